//go:build unix

package output

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cudacompat/internal/report/formats"
	"cudacompat/internal/usage"

	"github.com/google/go-cmp/cmp"
)

func TestSave(t *testing.T) {
	writes := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	breaks := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errors.New("broken off") }
	for _, test := range []struct {
		name  string
		write func(io.Writer) error
		want  map[string]string // file name to content, afterwards
		fails bool
	}{
		{"replaces", writes, map[string]string{"file": "new", "other": "other"}, false},
		{"failure-leaves-the-old", breaks, map[string]string{"file": "old", "other": "other"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"file": "old", "other": "other"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Save(t.Context(), filepath.Join(dir, "file"), test.write); (err != nil) != test.fails {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, contents(t, dir)); diff != "" {
				t.Errorf("the directory afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSaveKeepsTheMode checks that nobody who could not read the old file can read the new one, and that the umask
// decides for a new file.
func TestSaveKeepsTheMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	for _, test := range []struct {
		name      string
		old, want fs.FileMode // 0: it is not there
	}{
		{"new", 0, 0o640}, {"private", 0o600, 0o600}, {"for-a-group", 0o660, 0o660}, {"for-all", 0o644, 0o644},
		{"read-only", 0o400, 0o400}, {"setuid", 0o4755, 0o755},
	} {
		dir := t.TempDir()
		name, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
		if test.old != 0 {
			err := os.WriteFile(name, []byte("old"), 0o600)
			if err = errors.Join(err, syscall.Chmod(name, uint32(test.old))); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("file", link); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{name, link} { // a link to nothing, too, keeps pointing where it did
			if err := Save(t.Context(), way, func(w io.Writer) error { _, err := io.WriteString(w, way); return err }); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(name)
			if err != nil || info.Mode() != test.want {
				t.Errorf("%s by %s: mode %v, want %v (%v)", test.name, filepath.Base(way), info.Mode(), test.want, err)
			}
			if test.old == 0 {
				os.Remove(name)
			}
		}
		if target, err := os.Readlink(link); target != "file" {
			t.Errorf("%s: the link leads to %q (%v)", test.name, target, err)
		}
	}
}

// TestSaveKeepsTheOwner checks that a service keeps its file when root writes it.
func TestSaveKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	name := filepath.Join(t.TempDir(), "file")
	err := os.WriteFile(name, []byte("old"), 0o600)
	if err = errors.Join(err, os.Chown(name, 65534, 65533)); err != nil {
		t.Fatal(err)
	}
	if err := Save(t.Context(), name, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if is := info.Sys().(*syscall.Stat_t); is.Uid != 65534 || is.Gid != 65533 || info.Mode() != 0o600 {
		t.Errorf("owner %d:%d, mode %v", is.Uid, is.Gid, info.Mode())
	}
}

// TestOneFile checks that two formats are never written to one file.
func TestOneFile(t *testing.T) {
	t.Chdir(t.TempDir())
	here, _ := os.Getwd()
	err := errors.Join(os.Mkdir("sub", 0o700), os.Symlink("a", "link"), os.Symlink("link", "chain"), os.Symlink("..", "sub/up"))
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} {
		for other, want := range map[string]bool{"a": true, "./a": true, "sub/../a": true, "sub/up/a": true, "link": true,
			"chain": true, here + "/a": true, "b": false, "sub/a": false} {
			specs := []string{"json=a", "text=" + other}
			_, err := Parse(formats.All, specs, "auto", false, io.Discard, io.Discard)
			if (err != nil) != want {
				t.Errorf("-o %s, a there: %v: %v", strings.Join(specs, " -o "), there, err)
			}
		}
		if err := os.WriteFile("a", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// contents reads a directory's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// TestSaveThroughAnothersLink checks that save refuses what another user has put into a directory such as /tmp, and
// follows links elsewhere.
func TestSaveThroughAnothersLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		mode    os.FileMode // of the directory
		owner   int         // of the link or file
		make    func(shared, own string) error
		refused bool
	}{
		"link":             {0o777 | os.ModeSticky, nobody, func(shared, own string) error { return os.Symlink(own+"/report", shared+"/x") }, true},
		"dangling link":    {0o777 | os.ModeSticky, nobody, func(shared, own string) error { return os.Symlink(own+"/new", shared+"/x") }, true},
		"link to a device": {0o777 | os.ModeSticky, nobody, func(shared, own string) error { return os.Symlink("/dev/null", shared+"/x") }, true},
		"file":             {0o777 | os.ModeSticky, nobody, func(shared, own string) error { return os.WriteFile(shared+"/x", nil, 0o600) }, true},
		"pipe":             {0o777 | os.ModeSticky, nobody, func(shared, own string) error { return syscall.Mkfifo(shared+"/x", 0o666) }, true},
		"own link":         {0o777 | os.ModeSticky, 0, func(shared, own string) error { return os.Symlink(own+"/report", shared+"/x") }, false},
		"not sticky":       {0o777, nobody, func(shared, own string) error { return os.Symlink(own+"/report", shared+"/x") }, false},
		"not for all":      {0o755, nobody, func(shared, own string) error { return os.Symlink(own+"/report", shared+"/x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			shared, own := t.TempDir(), t.TempDir()
			must(os.WriteFile(own+"/report", []byte("old"), 0o644))
			must(c.make(shared, own))
			must(os.Lchown(shared+"/x", c.owner, 0))
			must(os.Chmod(shared, c.mode))
			err := Save(t.Context(), shared+"/x", func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
			mistake := new(usage.Error)
			if refused := errors.As(err, &mistake) && strings.Contains(mistake.Message, "of another user"); refused != c.refused || err != nil && !refused {
				t.Errorf("error %v", err)
			}
			if got, _ := os.ReadFile(own + "/report"); c.refused && string(got) != "old" {
				t.Errorf("the file that the link leads to is now %q", got)
			}
		})
	}
	t.Run("link to a directory", func(t *testing.T) {
		shared, own := t.TempDir(), t.TempDir()
		must(os.Symlink(own, shared+"/x"))
		must(os.Lchown(shared+"/x", nobody, 0))
		must(os.Chmod(shared, 0o777|os.ModeSticky))
		if err := Save(t.Context(), shared+"/x/report", func(io.Writer) error { return nil }); err == nil || len(contents(t, own)) > 0 {
			t.Errorf("error %v", err)
		}
	})
}

// TestSaveInTime checks that save does not wait for a pipe without a reader.
func TestSaveInTime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := Save(ctx, name, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
	if err == nil || !strings.Contains(err.Error(), "nobody read it in time") {
		t.Errorf("error %v", err)
	}
}
