package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadBounded refuses a file that is larger than the bound.
func TestReadBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := readBounded(file, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := readBounded(file, 4); err == nil {
		t.Error("5 bytes pass a bound of 4")
	}
}
