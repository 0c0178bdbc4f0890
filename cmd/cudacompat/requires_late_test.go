package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Every format of a comparison says what was not read in time, also beside JSON.
func TestRequiresDiffInNoTime(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old.txt", "new.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("torch==2.9.0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "github", "sarif"} {
		got := runs(t, "", "requires", "--timeout", "1ns", "-o", "json", "-o", format+"="+filepath.Join(dir, "out"),
			"--diff", filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt"))
		if got.code != exitInconclusive {
			t.Errorf("%s: exit %d, want %d:\n%s", format, got.code, exitInconclusive, got.err)
		}
	}
}
