package tables

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"cudacompat/data"
)

// TestSources tells a table with a site's rows from the embedded one, of which a copy says nothing new.
func TestSources(t *testing.T) {
	sources, err := Embedded().Sources()
	if err != nil || len(sources) != len(Names()) {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	newest := ""
	for _, s := range sources {
		g, err := Embedded().Grid(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Date != g.Date() || len(s.Hash) != 64 || s.Overlay {
			t.Errorf("%s is said to be of %s, its rows are of %s: %+v", s.Name, s.Date, g.Date(), s)
		}
		newest = max(newest, s.Date)
	}
	if got := Embedded().Checked(); got < newest {
		t.Errorf("the tables are said to be of %s, the newest of them is of %s", got, newest)
	}
	minor := "family,driver_linux,driver_windows,source\n12,530.30.02,528.33,https://example.com/policy\n"
	xid, err := fs.ReadFile(data.FS, "xid.csv")
	if err != nil {
		t.Fatal(err)
	}
	over := fstest.MapFS{"minor_compat.csv": {Data: []byte(minor)}, "xid.csv": {Data: xid}}
	own, err := LoadOver(over)
	if err != nil {
		t.Fatal(err)
	}
	sources, err = own.Sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if s.Overlay != (s.Name == "minor_compat") {
			t.Errorf("%+v", s)
		}
	}
	if own.Checked() != Embedded().Checked() {
		t.Errorf("with rows of a site, of which nobody says when they were read, the tables are of %s", own.Checked())
	}
}
