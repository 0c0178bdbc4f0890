package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEveryFaultIsFound checks nodes with 40 faults and drifts by the author of the rules, 40 by somebody else, and
// look-alikes: the program must find exactly these. `go run ./tools/manynodes -n 10000` measures it.
func TestEveryFaultIsFound(t *testing.T) {
	if os.Getenv("CUDACOMPAT_GRID") != "whole" {
		t.Skip("builds the program and judges 1,200 nodes: make grid")
	}
	tool := filepath.Join(t.TempDir(), "cudacompat")
	build := exec.Command("go", "build", "-o", tool, "cudacompat/cmd/cudacompat")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wrong, err := try(t.Output(), tool, "../../examples/facts/p5-48xlarge.json", 1200, false, false, "535.183.01")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
