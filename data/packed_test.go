//go:build packed

package data

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"testing"

	"cudacompat/internal/bundle"
)

// TestPackedTablesAreTheFiles compares what the program carries with the tables beside this test: all of them, nothing
// older, nothing else.
func TestPackedTablesAreTheFiles(t *testing.T) {
	tables, _ := fs.Glob(os.DirFS("."), "*.csv")
	signatures, _ := fs.Glob(os.DirFS("."), "signature/*.txt")
	if got := len(FS.(*bundle.Packed).File); len(tables) == 0 || got != len(tables)+1 { // and the signatures
		t.Errorf("tables.zip has %d tables, %d are here, and signatures", got, len(tables))
	}
	if got, _ := fs.Glob(FS, "signature/*.txt"); len(signatures) == 0 || !slices.Equal(got, signatures) {
		t.Errorf("tables.zip has %q, here are %q", got, signatures)
	}
	for _, name := range slices.Concat(tables, signatures) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(FS, name); err != nil || !bytes.Equal(got, text) {
			t.Errorf("tables.zip has another %s: make build packs the tables anew (%v)", name, err)
		}
	}
}
