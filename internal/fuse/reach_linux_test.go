package fuse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestMountsInReach checks that only a command that may read or write a FUSE file system runs in a child.
func TestMountsInReach(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"far", "repo/mnt", "else"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hosttest.Write(t, filepath.Join(dir, "else/file"), "")
	hosttest.Link(t, dir, filepath.Join(dir, "far"), "link")
	far, near, session := host.Mount{Point: dir + "/far"}, host.Mount{Point: dir + "/repo/mnt"}, host.Mount{Point: "/run/user/1000/doc"}
	for _, c := range []struct {
		args  string
		in    string
		mount host.Mount
		want  bool
	}{
		{"check else/file", dir, far, false},
		{"check torch==2.9.0 -o json=else/out", dir, far, false},
		{"check torch==2.9.0", dir, far, false},
		{"check torch==2.9.0", dir + "/far", far, true},
		{"check far/file", dir, far, true},
		{"check link/file", dir, far, true},
		{"check else/file -o json=link/out", dir, far, true},
		{"check -oline=far/out else/file", dir, far, true},
		{"check else", dir, far, true}, // a link in the directory may lead there
		{"check repo", dir, near, true},
		{"check else", dir, session, false},
		{"requires else/file", dir, near, false},
		{"explain else/file", dir, near, true}, // it may look at the machine
		{"explain else/file --no-here", dir, near, false},
		{"doctor", dir + "/else", near, true},
		{"doctor", dir, session, false},
	} {
		t.Run(c.args, func(t *testing.T) {
			if got := selectMountsInReach([]host.Mount{c.mount}, strings.Fields(c.args), c.in); (len(got) > 0) != c.want {
				t.Errorf("%v, want %t", got, c.want)
			}
		})
	}
	if got := findMountsInReach([]string{"guard", "--", "pip"}); got != nil {
		t.Errorf("guard: %v", got)
	}
}
