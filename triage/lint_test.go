package triage

import (
	"os"
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
