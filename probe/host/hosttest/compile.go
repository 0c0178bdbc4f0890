package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Library is one library to compile into a tree.
type Library struct {
	Name   string
	Source string
	Needs  []string // names in the tree to link with
	Flags  []string
}

// Compile makes shared libraries in a tree, one after the other.
func Compile(t *testing.T, root string, libs ...Library) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	for _, lib := range libs {
		file := filepath.Join(root, lib.Name)
		made := lib.made(t, root)
		Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		Must(t, os.WriteFile(file, made, 0o755))
	}
}

// compiled holds what was compiled in this run of the tests, by all that it was made of: many trees hold the same
// libraries, and the compiler takes longer than what reads them.
var compiled sync.Map

// made is what the compiler makes of a library.
func (lib Library) made(t *testing.T, root string) []byte {
	t.Helper()
	soname := filepath.Base(lib.Name)
	of := []string{soname, lib.Source, fmt.Sprintf("%q", lib.Flags)}
	args := []string{"-shared", "-fPIC", "-nostdlib", "-Wl,-soname," + soname}
	var needs []string
	for _, name := range lib.Needs {
		file := filepath.Join(root, name)
		needed, err := os.ReadFile(file)
		Must(t, err)
		of, needs = append(of, string(needed)), append(needs, file)
	}
	key := fmt.Sprintf("%q", of)
	if made, ok := compiled.Load(key); ok {
		return made.([]byte)
	}
	dir := t.TempDir()
	source, file := filepath.Join(dir, "lib.c"), filepath.Join(dir, soname)
	Write(t, source, lib.Source)
	args = append(append(append(args, "-o", file, source), lib.Flags...), needs...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	made, err := os.ReadFile(file)
	Must(t, err)
	compiled.Store(key, made)
	return made
}
