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

// TestDayOf has what a row rests on grow old: the oldest of what can change tells how old it is, and what never changes
// does only where there is nothing else.
func TestDayOf(t *testing.T) {
	lock := Lock{
		"torch":  {Tables: []string{"torch"}, Projects: []string{"torch"}, Fetched: "2026-11-20"},
		"pages":  {Address: "https://", Pages: map[string]Page{"https://docs.example.com/a": {Read: "2026-11-10"}}},
		"github": {Address: "https://github.com/", Fixed: true, Pages: map[string]Page{"https://github.com/a/b/blob/v1/c": {Read: "2026-01-01"}}},
	}
	const wheel = "wheel torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl sha256:00"
	for _, c := range []struct {
		name    string
		sources []string
		want    string
	}{
		{"wheel", []string{wheel}, "2026-11-20"},
		{"page", []string{wheel, "https://docs.example.com/a"}, "2026-11-10"},
		{"fixed", []string{wheel, "https://github.com/a/b/blob/v1/c"}, "2026-11-20"},
		{"fixed alone", []string{"https://github.com/a/b/blob/v1/c"}, "2026-01-01"},
		{"unknown", []string{"https://docs.example.com/b"}, ""},
	} {
		if got := lock.dayOf("torch", c.sources); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := lock.Origin("nccl", wheel); got != "" {
		t.Errorf("a wheel of torch is a source of nccl: %s", got)
	}
}
