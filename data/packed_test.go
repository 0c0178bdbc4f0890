//go:build packed

package data

import (
	"bytes"
	"io/fs"
	"os"
	"testing"
)

// TestPackedTablesAreTheFiles compares what the program carries with the tables beside this test: all of them, nothing
// older, nothing else.
func TestPackedTablesAreTheFiles(t *testing.T) {
	packed := 0
	err := fs.WalkDir(FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == "manifest.json" {
			return err
		}
		packed++
		got, err := fs.ReadFile(FS, name)
		if err != nil {
			return err
		}
		if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("tables.zip has an older %s: make build packs the tables anew (%v)", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tables, _ := fs.Glob(os.DirFS("."), "*.csv")
	signatures, _ := fs.Glob(os.DirFS("."), "signature/*.txt")
	if want := len(tables) + len(signatures); packed != want || want == 0 {
		t.Errorf("tables.zip has %d files, %d are here", packed, want)
	}
}
