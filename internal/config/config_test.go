package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const text = "version: 1\n"

// in makes a directory with a configuration the current one.
func in(t *testing.T) string {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	places := Places
	t.Cleanup(func() { Places = places })
	Places = []string{"."}
	return dir
}

func write(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFoundConfiguration checks which unnamed files are obeyed.
func TestFoundConfiguration(t *testing.T) {
	const nobody = 65534
	asRoot := func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
	}
	for name, c := range map[string]struct {
		make    func(t *testing.T, dir string)
		ignored string
	}{
		"own":           {func(t *testing.T, dir string) { write(t, Name, 0o644) }, ""},
		"a group's":     {func(t *testing.T, dir string) { write(t, Name, 0o664); must(t, os.Chmod(dir, 0o775)) }, ""},
		"all can write": {func(t *testing.T, dir string) { write(t, Name, 0o666) }, "others can write it"},
		"all can write its directory": {func(t *testing.T, dir string) { write(t, Name, 0o644); must(t, os.Chmod(dir, 0o777)) },
			"others can write its directory"},
		"sticky": {func(t *testing.T, dir string) { write(t, Name, 0o644); must(t, os.Chmod(dir, 0o777|os.ModeSticky)) },
			"others can write its directory"},
		"another user's": {func(t *testing.T, dir string) { asRoot(t); write(t, Name, 0o644); must(t, os.Chown(Name, nobody, 0)) },
			"it belongs to another user"},
		"in another user's directory": {func(t *testing.T, dir string) {
			asRoot(t)
			write(t, Name, 0o644)
			must(t, os.Chown(dir, nobody, 0))
		}, "its directory belongs to another user"},
		"of the user for whom sudo runs this": {func(t *testing.T, dir string) {
			asRoot(t)
			t.Setenv("SUDO_UID", "65534")
			write(t, Name, 0o644)
			must(t, os.Chown(Name, nobody, 0))
			must(t, os.Chown(dir, nobody, 0))
		}, ""},
		"another user's link": {func(t *testing.T, dir string) {
			asRoot(t)
			write(t, "mine.yaml", 0o644)
			must(t, os.Symlink("mine.yaml", Name))
			must(t, os.Lchown(Name, nobody, 0))
		}, "it belongs to another user"},
		"a link below": {func(t *testing.T, dir string) { write(t, "a/b.yaml", 0o644); must(t, os.Symlink("a/b.yaml", Name)) }, ""},
		"links of a ConfigMap": {func(t *testing.T, dir string) {
			write(t, "..2026/"+Name, 0o644)
			must(t, os.Symlink("..2026", "..data"))
			must(t, os.Symlink("..data/"+Name, Name))
		}, ""},
		"a link to what all can write": {func(t *testing.T, dir string) { write(t, "a/b.yaml", 0o666); must(t, os.Symlink("a/b.yaml", Name)) },
			"others can write it"},
		"a link into a directory that all can write": {func(t *testing.T, dir string) {
			write(t, "a/b/c.yaml", 0o644)
			must(t, os.Chmod("a", 0o777))
			must(t, os.Symlink("a/b/c.yaml", Name))
		}, "others can write its directory"},
		"a link out": {func(t *testing.T, dir string) { must(t, os.Symlink("/dev/null", Name)) },
			"it is a link that leads out of its directory"},
		"a link out by a link": {func(t *testing.T, dir string) {
			must(t, os.Symlink("/etc", "a"))
			must(t, os.Symlink("a/passwd", Name))
		},
			"it is a link that leads out of its directory"},
		"a link to the directory above": {func(t *testing.T, dir string) { must(t, os.Symlink("..", Name)) },
			"it is a link that leads out of its directory"},
		"a link out and back": {func(t *testing.T, dir string) {
			write(t, "mine.yaml", 0o644)
			out := t.TempDir()
			must(t, os.Symlink(filepath.Join(dir, "mine.yaml"), filepath.Join(out, "back")))
			must(t, os.Symlink(filepath.Join(out, "back"), Name))
		}, "it is a link that leads out of its directory"},
		"a link above and back": {func(t *testing.T, dir string) {
			write(t, "mine.yaml", 0o644)
			must(t, os.Symlink(filepath.Join("..", filepath.Base(dir), "mine.yaml"), Name))
		}, "it is a link that leads out of its directory"},
		"an absolute link within": {func(t *testing.T, dir string) {
			write(t, "mine.yaml", 0o644)
			must(t, os.Symlink(filepath.Join(dir, "mine.yaml"), Name))
		}, ""},
		"a link through another user's link": {func(t *testing.T, dir string) {
			asRoot(t)
			write(t, "a/mine.yaml", 0o644)
			must(t, os.Symlink("a", "b"))
			must(t, os.Lchown("b", nobody, 0))
			must(t, os.Symlink("b/mine.yaml", Name))
		}, "it belongs to another user"},
		"a link to nothing": {func(t *testing.T, dir string) { must(t, os.Symlink("nothing", Name)) }, "it is a link that leads nowhere"},
		"a link to itself":  {func(t *testing.T, dir string) { must(t, os.Symlink(Name, Name)) }, "it is a link that leads nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			c.make(t, in(t))
			f, err := Find("")
			want := File{Name: "./" + Name, Data: []byte(text)}
			if c.ignored != "" {
				want = File{Ignored: []Ignored{{"./" + Name, c.ignored}}}
			}
			if diff := cmp.Diff(want, f); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestIgnoredConfiguration lets a configuration that is ignored hide none in the next place.
func TestIgnoredConfiguration(t *testing.T) {
	in(t)
	Places = []string{".", "site"}
	if f, err := Find(""); err != nil || f.Name != "" || f.Ignored != nil {
		t.Errorf("%+v, %v", f, err)
	}
	write(t, Name, 0o666)
	write(t, "site/"+Name, 0o644)
	want := File{Name: "site/" + Name, Data: []byte(text), Ignored: []Ignored{{"./" + Name, "others can write it"}}}
	f, err := Find("")
	if diff := cmp.Diff(want, f); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestNamedConfiguration checks that a named file is obeyed, whoever owns it.
func TestNamedConfiguration(t *testing.T) {
	in(t)
	write(t, "x.yaml", 0o666)
	if f, err := Find("x.yaml"); err != nil || string(f.Data) != text || !f.Named {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestUnreadableConfiguration checks that a pipe that nobody named does not block, and that an oversized file is not
// read completely.
func TestUnreadableConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T)
		says string
	}{
		"a pipe":      {func(t *testing.T) { must(t, syscall.Mkfifo(Name, 0o644)) }, "it is not a regular file"},
		"a directory": {func(t *testing.T) { must(t, os.Mkdir(Name, 0o755)) }, "it is not a regular file"},
		"too large":   {func(t *testing.T) { write(t, Name, 0o644); must(t, os.Truncate(Name, maxSize+1)) }, "larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t)
			c.make(t)
			began := time.Now()
			if _, err := Find(""); err == nil || !strings.Contains(err.Error(), c.says) || time.Since(began) > time.Minute {
				t.Errorf("error %v, want %s", err, c.says)
			}
		})
	}
}

// TestNotes names a configuration only where it changed a result or was ignored.
func TestNotes(t *testing.T) {
	for want, e := range map[string]*Effect{
		"fail-on: never, waived driver-eol from ./x.yaml": {File: "./x.yaml", Changed: []string{"fail-on: never", "waived driver-eol"}},
		"require: gpu from /etc/x.yaml; ignored ./x.yaml: it is broken": {File: "/etc/x.yaml", Changed: []string{"require: gpu"},
			Ignored: []Ignored{{"./x.yaml", "it is broken"}}},
		"": {File: "./x.yaml"},
	} {
		if got := strings.Join(e.Notes(), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if (*Effect)(nil).Notes() != nil {
		t.Error("no configuration has a note")
	}
}
