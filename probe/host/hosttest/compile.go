package hosttest

import (
	"os"
	"os/exec"
	"path/filepath"
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
		source := filepath.Join(t.TempDir(), "lib.c")
		Write(t, source, lib.Source)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-shared", "-fPIC", "-nostdlib", "-Wl,-soname," + filepath.Base(file), "-o", file,
			source}, lib.Flags...)
		for _, name := range lib.Needs {
			args = append(args, filepath.Join(root, name))
		}
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}
}
