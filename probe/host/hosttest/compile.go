package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// compiled caches what was built in this run of the tests, by all its inputs. Many trees contain the same libraries,
// and compiling takes longer than reading them.
var compiled sync.Map

// made returns the library, linked as gcc would. Many are made of one source: it is compiled once.
func (lib Library) made(t *testing.T, root string) []byte {
	t.Helper()
	soname := filepath.Base(lib.Name)
	args := []string{"-shared", "--hash-style=gnu", "--eh-frame-hdr", "-soname", soname}
	of := []string{soname, lib.Source, fmt.Sprintf("%q", lib.Flags)}
	for _, flag := range lib.Flags {
		args = append(args, strings.Split(strings.TrimPrefix(flag, "-Wl,"), ",")...)
	}
	var needs []string
	for _, name := range lib.Needs {
		file := filepath.Join(root, name)
		needed, err := os.ReadFile(file)
		Must(t, err)
		of, needs = append(of, string(needed)), append(needs, file)
	}
	return once(t, fmt.Sprintf("%q", of), func(dir, out string) []string {
		object := filepath.Join(dir, "lib.o")
		Must(t, os.WriteFile(object, lib.object(t), 0o644))
		return append(append(append([]string{"ld"}, args...), "-o", out, object), needs...)
	})
}

// object returns the library's source, compiled.
func (lib Library) object(t *testing.T) []byte {
	return once(t, lib.Source, func(dir, out string) []string {
		source := filepath.Join(dir, "lib.c")
		Write(t, source, lib.Source)
		return []string{"gcc", "-c", "-fPIC", "-o", out, source}
	})
}

// once returns what a command writes to out, and runs it only the first time for a key.
func once(t *testing.T, key string, command func(dir, out string) []string) []byte {
	t.Helper()
	if made, ok := compiled.Load(key); ok {
		return made.([]byte)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	args := command(dir, out)
	if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, text)
	}
	made, err := os.ReadFile(out)
	Must(t, err)
	compiled.Store(key, made)
	return made
}
