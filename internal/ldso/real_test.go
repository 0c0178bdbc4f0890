package ldso_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/internal/ldso"
)

// The tests in this file compare with large programs that are not part of the repository. They are run
// by hand:
//
//	LDSO_PYTHON=/opt/venv/bin/python LDSO_IMPORT=torch go test -v -run Real ./internal/ldso
//	LDSO_PROGRAM=/bin/bash go test -v -run Real ./internal/ldso
//	LDSO_LIBRARY=…/torch/lib/libtorch_cuda.so go test -run '^$' -bench . ./internal/ldso
//
// LD_LIBRARY_PATH and LD_PRELOAD are taken over by both sides.

// mapped prints what is mapped, in the loader's order.
const mapped = `
import ctypes, sys
class Info(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_void_p), ("name", ctypes.c_char_p)]
names = []
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
def show(info, size, data):
    names.append(info.contents.name.decode())
    return 0
ctypes.CDLL(None).dl_iterate_phdr(show, None)
print("\n".join(names))
`

// opened is a line of LD_DEBUG=files: "file=libcuda.so.1 [0];  dynamically loaded by /lib/libx.so [0]".
var opened = regexp.MustCompile(`(?m)file=(\S+) \[0\];  dynamically loaded by (\S+) \[0\]`)

// TestRealPython imports a module, opens what the import opened in the same order, and compares what is
// mapped in the end.
func TestRealPython(t *testing.T) {
	python := os.Getenv("LDSO_PYTHON")
	if python == "" {
		t.Skip("LDSO_PYTHON names no interpreter")
	}
	log := filepath.Join(t.TempDir(), "log")
	script := mapped
	if module := os.Getenv("LDSO_IMPORT"); module != "" {
		script = "import " + module + mapped
	}
	cmd := exec.Command(python, "-c", script)
	cmd.Env = append(os.Environ(), "LD_DEBUG=files", "LD_DEBUG_OUTPUT="+log)
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	logs, _ := filepath.Glob(log + ".*")
	p := realProcess(t, python)
	for _, file := range logs[:1] {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		replay(t, p, string(b))
	}
	compareMapped(t, p, strings.Split(strings.TrimSpace(string(stdout)), "\n"))
}

func realProcess(t testing.TB, program string) *ldso.Process {
	t.Helper()
	r := (&tree{TB: t}).resolver()
	r.LibraryPath = ldso.SplitLibraryPath(os.Getenv("LD_LIBRARY_PATH"))
	r.Preload = ldso.SplitPreload(os.Getenv("LD_PRELOAD"))
	p, err := r.Start(program)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// replay opens what a log says was opened.
func replay(t *testing.T, p *ldso.Process, log string) {
	t.Helper()
	requests := opened.FindAllStringSubmatch(log, -1)
	for _, m := range requests {
		caller := p.Loaded(m[2])
		if caller == nil && m[2] != p.Objects[0].Path {
			t.Logf("%s is opened by %s, which we do not know", m[1], m[2])
		}
		if _, err := p.Open(m[1], caller, ldso.Local); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d dlopens", len(requests))
}

func compareMapped(t *testing.T, p *ldso.Process, lines []string) {
	t.Helper()
	var real, ours []string
	for _, line := range lines {
		if strings.HasPrefix(line, "/") {
			real = append(real, line)
		}
	}
	for _, o := range p.Objects[1:] {
		ours = append(ours, o.Path)
		t.Logf("%s: %s", o.Path, o.Reason)
	}
	for _, m := range p.Missing {
		t.Logf("missing %s: %v", m.Name, m.Err)
	}
	if diff := cmp.Diff(real, ours); diff != "" {
		t.Errorf("mapped (-loader +ours):\n%s", diff)
	}
	t.Logf("%d objects", len(ours))
}

// TestRealProgram compares with "ldd", and our undefined symbols with those of the standard library.
func TestRealProgram(t *testing.T) {
	program := os.Getenv("LDSO_PROGRAM")
	if program == "" {
		t.Skip("LDSO_PROGRAM names no program")
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "LD_TRACE_LOADED_OBJECTS=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range loaderLine.FindAllStringSubmatch(string(out), -1) {
		lines = append(lines, m[1])
	}
	compareMapped(t, realProcess(t, program), lines)
}

// TestRealSymbols compares every object that a library brings into a process with debug/elf, and prints what is
// missing.
func TestRealSymbols(t *testing.T) {
	p := realLibrary(t)
	for _, o := range p.Objects {
		checkUndefined(t, p, o)
		if list := missing(t, p, o); list != nil {
			t.Logf("%s misses %q", o.Path, list)
		}
	}
}

func realLibrary(t testing.TB) *ldso.Process {
	t.Helper()
	library, python := os.Getenv("LDSO_LIBRARY"), os.Getenv("LDSO_PYTHON")
	if library == "" || python == "" {
		t.Skip("LDSO_LIBRARY and LDSO_PYTHON name no files")
	}
	p := realProcess(t, python)
	if _, err := p.Open(library, nil, ldso.Local); err != nil {
		t.Fatal(err)
	}
	return p
}
