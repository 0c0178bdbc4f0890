package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLibraries plants the distributions and measures a program on them.
func TestLibraries(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler here")
	}
	b := &bench{tool: "/bin/true", dir: t.TempDir(), runs: 1}
	if err := b.libraries(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.growth) != 1 || !strings.HasPrefix(b.growth[0].what, "300 distributions with 1500") {
		t.Errorf("%+v", b.growth)
	}
}
