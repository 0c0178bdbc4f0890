package host

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// roots returns the ways to look beneath a directory: the system's, and the one for systems that have none.
func roots(t *testing.T, dir string) map[string]rootFS {
	t.Helper()
	system, err := rootAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	stepwise, err := walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]rootFS{"system": system, "stepwise": stepwise}
}

// planted returns a directory with files, links and what is neither.
func planted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"etc/os-release", "usr/lib/x.so.1.2", "deep/er/here"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("inside"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"lib": "usr/lib", "usr/lib/x.so.1": "x.so.1.2",
		"abs": "/etc/os-release", "up": "../../../etc",
		"self": "self", "gone": "/nowhere", "out": "/etc/passwd", "root": "/", "through": "/etc/os-release/more",
		"dir": "/deep/er"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRootsAgree asks both ways for the same names.
func TestRootsAgree(t *testing.T) {
	both := roots(t, planted(t))
	if runtime.GOOS == "linux" {
		if _, same := both["system"].(*steppingRoot); same {
			t.Skip("this kernel or sandbox refuses openat2")
		}
	}
	for _, name := range []string{"", "/", ".", "..", "/etc", "/etc/os-release", "/lib/x.so.1", "/abs", "/up/os-release",
		"/self", "/gone", "/out", "/root/root/lib", "/through", "/dir/../er/here", "/dir/../here",
		"/deep//er/./here", "/../../etc", "/nowhere/..", "lib"} {
		said := map[string]string{}
		for way, root := range both {
			said[way] = everything(root, name)
		}
		if said["system"] != said["stepwise"] {
			t.Errorf("%q:\nsystem   %s\nstepwise %s", name, said["system"], said["stepwise"])
		}
	}
}

// everything returns all that a root reports about a name.
func everything(root rootFS, name string) string {
	var said []string
	say := func(what string, err error) {
		if err != nil {
			what = Plain(err).Error()
		}
		said = append(said, what)
	}
	say("there", root.reach(name))
	say(root.resolve(name))
	say(root.readlink(name))
	f, err := root.open(name)
	say(contents(f), err)
	d, err := root.openDir(name)
	if err == nil {
		entries, _ := d.entries(func([]keptEntry) error { return nil })
		say(strings.Repeat("x", len(entries)), d.Close())
	} else {
		say("", err)
	}
	return strings.Join(said, "; ")
}

func contents(f File) string {
	if f == nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data) + errText(err)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRaces exchanges a file, and a directory, for a link out of the root again and again while they are read: no look
// ever leads out.
func TestRaces(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "os-release"), []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string][2]string{"file": {"etc/os-release", outside + "/os-release"},
		"directory": {"etc", outside}} {
		dir := planted(t)
		link := filepath.Join(dir, "swap")
		if err := os.Symlink(swap[1], link); err != nil {
			t.Fatal(err)
		}
		for way, root := range roots(t, dir) {
			t.Run(name+"-"+way, func(t *testing.T) {
				stop := exchanging(t, filepath.Join(dir, swap[0]), link)
				defer stop()
				for range 3000 {
					f, err := root.open("/etc/os-release")
					if text := contents(f); err == nil && text != "inside" {
						t.Fatalf("it reads %q", text)
					}
				}
			})
		}
	}
}

// exchanging swaps two names until it is stopped, and leaves them as they were.
func exchanging(t *testing.T, one, other string) (stop func()) {
	t.Helper()
	if err := errors.Join(exchange(one, other), exchange(one, other)); err != nil {
		t.Skip(err)
	}
	var over sync.WaitGroup
	done := make(chan struct{})
	over.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = errors.Join(exchange(one, other), exchange(one, other))
			}
		}
	})
	return func() {
		close(done)
		over.Wait()
	}
}
