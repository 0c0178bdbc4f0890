package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFleetPageNamesItsExamples checks that the page names each example file for a fleet engine.
func TestFleetPageNamesItsExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"kubernetes", "slurm", "prometheus", "ansible"} {
		files, err := filepath.Glob("../../examples/" + engine + "/*")
		if err != nil || len(files) == 0 {
			t.Errorf("examples/%s: %d files, %v", engine, len(files), err)
		}
		for _, file := range files {
			if !strings.Contains(string(page), filepath.Base(file)) {
				t.Errorf("docs/fleet.md does not name %s", file)
			}
		}
	}
}
