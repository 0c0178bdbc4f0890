package ldso_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

// confTree is a tree with an ld.so.conf that uses all of the format.
func confTree(t testing.TB) *tree {
	w := newTree(t, false)
	for _, dir := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g h"} {
		w.write(dir+"/keep", nil)
	}
	w.write("/etc/ld.so.conf", []byte(w.expand("# first\n\n$T/c/ # trailing slash\ninclude "+
		"ld.so.conf.d/*.conf\t$T/etc/more/?[12]*/*.x\n"+
		"\t $T/d  \nhwcap 0 nosegneg\n$T/g h\ninclude\nincludes\n$T/a\nnot/absolute-and-absent\n/")))
	w.write("/etc/ld.so.conf.d/988-cuda.conf", []byte(w.expand("$T/a")))
	w.write("/etc/ld.so.conf.d/000-first.conf", []byte(w.expand("$T/b\ninclude $T/etc/ld.so.conf\ninclude "+
		"$T/etc/absent.conf\n")))
	w.write("/etc/ld.so.conf.d/.hidden.conf", []byte(w.expand("$T/hidden")))
	w.write("/etc/ld.so.conf.d/other.txt", []byte(w.expand("$T/other")))
	w.write("/etc/more/x1y/1.x", []byte(w.expand("$T/e\n")))
	w.write("/etc/more/x3y/1.x", []byte(w.expand("$T/f\n")))
	return w
}

var confLine = regexp.MustCompile(`(?m)^(/[^:\n]+): \(from (\S+):(\d+)\)$`)

func TestConfEqualsLdconfig(t *testing.T) {
	w := confTree(t)
	// ldconfig follows an include that includes itself until it crashes.
	w.write("/etc/ld.so.conf.d/000-first.conf", []byte(w.expand("$T/b\ninclude $T/etc/absent.conf\n")))
	dirs, err := ldso.ReadConf(&rootFS{}, w.dir+"/etc/ld.so.conf")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(ldconfig(t), "-v", "-N", "-X", "-f", w.dir+"/etc/ld.so.conf", "-C",
		w.dir+"/cache").CombinedOutput()
	if err != nil {
		t.Fatalf("ldconfig: %v\n%s", err, out)
	}
	var want, got []string
	for _, m := range confLine.FindAllStringSubmatch(string(out), -1) {
		if m[2] != "<builtin>" {
			want = append(want, fmt.Sprintf("%s %s:%s", m[1], m[2], m[3]))
		}
	}
	for _, d := range dirs {
		if strings.HasPrefix(d.Path, w.dir) && !strings.HasSuffix(d.Path, "/other") {
			got = append(got, fmt.Sprintf("%s %s:%d", d.Path, d.From, d.Line))
		}
	}
	if len(want) < 6 {
		t.Fatalf("ldconfig does not tell where directories come from:\n%s", out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("directories (-ldconfig +ours):\n%s", diff)
	}
}

func TestReadConf(t *testing.T) {
	w := confTree(t)
	dirs, err := ldso.ReadConf(&rootFS{dir: w.dir}, "/etc/ld.so.conf")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range dirs {
		got = append(got, strings.TrimPrefix(d.Path, w.dir))
	}
	// The tree's own root has no $T, so that includes by absolute path find nothing.
	want := []string{"/c", "/b", "/a", "/d", "/g h", "includes", "not/absolute-and-absent"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	if _, err := ldso.ReadConf(&rootFS{dir: w.dir}, "/etc/none.conf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want one that the file does not exist", err)
	}
}

func TestReadConfIncludesItself(t *testing.T) {
	w := newTree(t, false)
	w.write("/etc/ld.so.conf", []byte("include *.conf\n/a\n"))
	w.write("/etc/b.conf", []byte("include ../etc/ld.so.conf b.conf\n/b\n"))
	dirs, err := ldso.ReadConf(&rootFS{dir: w.dir}, "/etc/ld.so.conf")
	want := []ldso.ConfDir{{Path: "/b", From: "/etc/b.conf", Line: 2}, {Path: "/a", From: "/etc/ld.so.conf", Line: 2}}
	if diff := cmp.Diff(want, dirs); diff != "" || err != nil {
		t.Errorf("directories (-want +got), error %v:\n%s", err, diff)
	}
}

func TestReadConfBounds(t *testing.T) {
	w := newTree(t, false)
	w.write("/etc/ld.so.conf", []byte("include d/*.conf\n"))
	for i := range 1100 {
		w.write(fmt.Sprintf("/etc/d/%d.conf", i), nil)
	}
	w.write("/etc/large.conf", make([]byte, 1<<20+1))
	for file, want := range map[string]string{
		"/etc/ld.so.conf": "more than 1024 files", "/etc/large.conf": "larger than 1048576 bytes",
	} {
		if _, err := ldso.ReadConf(&rootFS{dir: w.dir}, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", file, err, want)
		}
	}
}

func FuzzReadConf(f *testing.F) {
	f.Add("include /etc/ld.so.conf.d/*.conf\n/usr/local/cuda/lib64\n# x\n")
	f.Add("include *\ninclude ???[a-\nhwcap 1 x\n\\\n")
	f.Fuzz(func(t *testing.T, content string) {
		w := &tree{TB: t, dir: t.TempDir(), own: true}
		w.write("/etc/ld.so.conf", []byte(content))
		w.write("/etc/ld.so.conf.d/a.conf", []byte(content))
		dirs, err := ldso.ReadConf(&rootFS{dir: w.dir}, "/etc/ld.so.conf")
		for _, d := range dirs {
			if d.Path == "" || strings.Contains(d.Path, "\n") || d.Line == 0 {
				t.Errorf("directory %+v of %q, error %v", d, content, err)
			}
		}
	})
}
