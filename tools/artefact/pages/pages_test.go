package pages

import (
	"testing"

	"cudacompat/tools/artefact"
)

// TestReadersAreKnown checks that data/sources.toml may name each reader, and that each source's reader exists.
func TestReadersAreKnown(t *testing.T) {
	list, err := artefact.ReadSources("../../../data")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"typed": true}
	for _, l := range list {
		_, wheels := l.Product()
		if readers[l.Reader] == nil && !wheels && !used[l.Reader] {
			t.Errorf("%s: there is no reader %q", l.ID, l.Reader)
		}
		used[l.Reader] = true
	}
	for name := range readers {
		if !used[name] {
			t.Errorf("no source has the reader %q", name)
		}
	}
}
