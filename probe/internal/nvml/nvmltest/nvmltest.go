// Package nvmltest makes libraries that stand in for the driver's NVML.
package nvmltest

import (
	_ "embed"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/fake.c
var source string

//go:embed testdata/fault.h
var fault string

// Library compiles a library that answers as the defines say, and returns the directory with libnvidia-ml.so.1.
func Library(t *testing.T, defines ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: no NVML to ask")
	}
	dir := t.TempDir()
	args := append([]string{"-shared", "-fPIC", "-w", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "-xc", "-"},
		defines...)
	cmd := exec.Command(compiler, args...)
	cmd.Stdin = strings.NewReader(fault + source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}
