package ldso_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"cudacompat/internal/ldso"
)

// tree is a directory of libraries, and the root of the programs that run in it if own is set.
type tree struct {
	testing.TB
	dir string
	own bool
}

// name returns the path by which a program knows a file of the tree.
func (w *tree) name(path string) string {
	if w.own {
		return path
	}
	return w.dir + path
}

// expand replaces $T and the places.
func (w *tree) expand(s string) string { return strings.ReplaceAll(w.places(s), "$T", w.name("")) }

// places replaces %SYSTEM, the last system directory of the machine's loader, and %LIB, its $LIB.
func (w *tree) places(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	w.Helper()
	dirs, err := ldso.SystemDirs(&rootFS{}, interpreter(w))
	if err != nil || len(dirs) == 0 {
		w.Fatalf("system directories: %v", err)
	}
	lib := filepath.Base(dirs[0])
	if strings.HasSuffix(lib, "-linux-gnu") {
		lib = "lib/" + lib
	}
	return strings.NewReplacer("%SYSTEM", dirs[len(dirs)-1], "%LIB", lib).Replace(s)
}

func (w *tree) write(path string, b []byte) {
	w.Helper()
	file := w.dir + path
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, b, 0o755)); err != nil {
		w.Fatal(err)
	}
}

func (w *tree) link(path, target string) {
	w.Helper()
	file := w.dir + path
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.Symlink(w.expand(target), file)); err != nil {
		w.Fatal(err)
	}
}

func (w *tree) build(l library) {
	w.Helper()
	args := []string{"-shared", "-fPIC", "-nostdlib"}
	switch l.soname {
	case "":
		args = append(args, "-Wl,-soname,"+filepath.Base(l.path))
	case "-":
	default:
		args = append(args, "-Wl,-soname,"+w.expand(l.soname))
	}
	w.write(w.places(l.path), compile(w, l.source, append(args, w.linkArgs(l)...)...))
}

// probe builds the probe program.
func (w *tree) probe(l library) {
	w.Helper()
	w.write(l.path, compile(w, probeSource, append(w.linkArgs(l), "-ldl")...))
}

func (w *tree) linkArgs(l library) []string {
	args := strings.Fields(w.expand(l.flags))
	args = append(args, "-Wl,--no-as-needed")
	for _, soname := range strings.Fields(w.expand(l.needs)) {
		args = append(args, stub(w, soname))
	}
	return append(args, "-Wl,--as-needed")
}

var (
	loaderLine = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)
	plainTree  = regexp.MustCompile(`^[\w/.-]+$`)
)

// newTree returns an empty tree; with own, a root that has the machine's C library.
func newTree(t testing.TB, own bool) *tree {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no glibc loader to compare with")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil || !plainTree.MatchString(dir) {
		t.Fatalf("temporary directory %q: %v", dir, err)
	}
	w := &tree{t, dir, own}
	if own {
		w.copyLibc()
	}
	return w
}

// copyLibc copies the libraries of a plain program, and the loader, to their places.
func (w *tree) copyLibc() {
	w.Helper()
	w.probe(library{path: "/plain"})
	cmd := exec.Command(w.dir + "/plain")
	cmd.Env = []string{"LD_TRACE_LOADED_OBJECTS=1"}
	out, err := cmd.Output()
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range loaderLine.FindAllSubmatch(out, -1) {
		b, err := os.ReadFile(string(m[1]))
		if err != nil {
			w.Fatal(err)
		}
		w.write(string(m[1]), b)
	}
}

// patch overwrites bytes of a file.
func (w *tree) patch(path string, at int, bytes ...byte) {
	w.Helper()
	b, err := os.ReadFile(w.dir + path)
	if err != nil {
		w.Fatal(err)
	}
	b = append([]byte(nil), b...)
	copy(b[at:], bytes)
	w.write(path, b)
}
