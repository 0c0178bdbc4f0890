package data_test

import (
	"flag"
	"os"
	"testing"

	"cudacompat/internal/tables"
)

var update = flag.Bool("update", false, "write dates.txt")

// TestDates compares dates.txt with the tables beside it, byte by byte.
func TestDates(t *testing.T) {
	want, err := tables.Open(os.DirFS(".")).Dates()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("dates.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("dates.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("dates.txt is not of these tables: go generate ./data\n%s\nwant\n%s", got, want)
	}
}
