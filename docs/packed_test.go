//go:build packed

package docs

import (
	"bytes"
	"io/fs"
	"os"
	"testing"
)

// TestPackedPagesAreTheFiles compares what the program carries with the pages beside this test.
func TestPackedPagesAreTheFiles(t *testing.T) {
	here, err := fs.Glob(os.DirFS("."), "rules/[a-z]*.md")
	if err != nil || len(here) == 0 {
		t.Fatal("no pages are here", err)
	}
	for _, name := range here {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(Rules(), name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("pages.zip has another %s: make build packs the pages anew (%v)", name, err)
		}
	}
}
