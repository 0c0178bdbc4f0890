package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThreeResults checks that a missing file counts as absent, and that every other failure is recorded once, with its
// place.
func TestThreeResults(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etc/cdi"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		name, place string
		look        func(*Host)
	}{
		{"ReadDir", "/etc", func(h *Host) { _, _ = h.ReadDir("/etc") }},
		{"Glob", "/etc", func(h *Host) { h.Glob("/etc/*.yaml") }},
		{"GlobIn", "/etc/cdi", func(h *Host) { h.GlobIn("/etc", "cdi/*.yaml") }},
		{"Open", "/etc/file", func(h *Host) { _, _ = h.Open("/etc/file") }},
		{"ReadFile", "/etc/file", func(h *Host) { _, _ = h.ReadFile("/etc/file") }},
		{"ReadLine", "/etc/file", func(h *Host) { _, _ = h.ReadLine("/etc/file") }},
		{"Exists", "/etc/file", func(h *Host) { h.Exists("/etc/file") }},
		{"Resolve", "/etc/file", func(h *Host) { _, _ = h.Resolve("/etc/file") }},
		{"Readlink", "/etc/file", func(h *Host) { _, _ = h.Readlink("/etc/file") }},
		{"Size", "/etc/file", func(h *Host) { _, _ = h.Size("/etc/file") }},
	} {
		for code, recorded := range map[syscall.Errno]bool{
			syscall.ENOENT: false, syscall.ENOTDIR: false, syscall.ELOOP: false, 0: false,
			syscall.EACCES: true, syscall.EIO: true, syscall.EMFILE: true, syscall.ESTALE: true,
			syscall.ENOMEM: true, syscall.EPERM: true, syscall.ETIMEDOUT: true,
		} {
			h := (&Host{Root: dir}).WithFaults(func(_, name string) error {
				if code == 0 || name != l.place {
					return nil
				}
				return code
			})
			l.look(h)
			l.look(h)
			var want []Skipped
			if recorded {
				want = []Skipped{{Place: l.place, Reason: code.Error(), Closed: code == syscall.EACCES || code == syscall.EPERM}}
			}
			if diff := cmp.Diff(want, h.DrainSkipped()); diff != "" {
				t.Errorf("%s, %v (-want +got):\n%s", l.name, code, diff)
			}
			l.look(h) // the answer is kept, and the next source that asks is told, too
			if diff := cmp.Diff(want, h.DrainSkipped()); diff != "" {
				t.Errorf("%s, %v, asked again (-want +got):\n%s", l.name, code, diff)
			}
		}
	}
}

func TestTopmost(t *testing.T) {
	got := Topmost([]Skipped{{Place: "/opt/venv/lib/python3.12"}, {Place: "/opt/venv/lib"}, {Place: "/opt/venvs"}})
	if diff := cmp.Diff([]Skipped{{Place: "/opt/venv/lib"}, {Place: "/opt/venvs"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
