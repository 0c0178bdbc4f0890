package data_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cudacompat/internal/tables"
)

var update = flag.Bool("update", false, "write dates.txt")

// TestDates compares dates.txt with the tables beside it, byte by byte.
func TestDates(t *testing.T) {
	sources, err := tables.Open(os.DirFS(".")).Sources()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, s := range sources {
		fmt.Fprintln(&want, s.Name, s.Date, s.Hash)
	}
	if *update {
		if err := os.WriteFile("dates.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("dates.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("dates.txt is not of these tables: go generate ./data\n%s\nwant\n%s", got, want.String())
	}
}
