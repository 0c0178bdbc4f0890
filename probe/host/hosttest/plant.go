package hosttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// Link makes a symbolic link in a tree, its directories too.
func Link(t *testing.T, root, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

// RoundTrip checks the contract of Facts as JSON: nothing is lost, and an array is never null.
func RoundTrip(t *testing.T, f facts.Facts) {
	t.Helper()
	data, err := json.Marshal(f)
	Must(t, err)
	var back facts.Facts
	Must(t, json.Unmarshal(data, &back))
	if diff := cmp.Diff(f, back); diff != "" {
		t.Errorf("after a JSON round trip (-before +after):\n%s", diff)
	}
	if rest := bytes.ReplaceAll(data, []byte(`"cuda_available":null`), nil); bytes.Contains(rest, []byte("null")) {
		t.Errorf("null in %s", data)
	}
}

// Write writes a file, its directories too.
func Write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
