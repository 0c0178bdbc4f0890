package triage

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// theTable is data/signature.csv, read once for all tests.
var theTable = sync.OnceValues(func() ([]Signature, error) {
	f, err := os.Open("../data/signature.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseSignatures(f)
})

func table(t testing.TB) []Signature {
	t.Helper()
	all, err := theTable()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unseen names the rows whose line was found in no thread or log of somebody who met it. The text is known
// from the library that holds it.
var unseen = []string{"cuda-223"}

// TestLinesWereSeen holds that every other line comes from a thread or a log: an address that is no program's source.
func TestLinesWereSeen(t *testing.T) {
	var got []string
	for _, s := range table(t) {
		if seen := s.Source[0]; !strings.HasPrefix(seen, "https://") || strings.HasSuffix(seen, ".go") {
			got = append(got, s.ID)
		}
	}
	if !slices.Equal(got, unseen) {
		t.Errorf("the lines of %q come from no thread; want %q", got, unseen)
	}
	t.Logf("%d of %d lines come from no thread", len(got), len(table(t)))
}
