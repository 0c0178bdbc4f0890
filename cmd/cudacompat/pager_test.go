package main

import (
	"bytes"
	"testing"

	"cudacompat/report"
)

// TestPager: the reader's own, none, and one that is not there, on a terminal and elsewhere.
func TestPager(t *testing.T) {
	terminal := report.Style{Width: 80}
	for _, test := range []struct {
		pager string
		style report.Style
		want  string
	}{
		{"tr a-z A-Z", terminal, "TITLE\n"},
		{"cat", terminal, "title\n"},
		{"", terminal, "title\n"},
		{"/no/such/pager", terminal, "title\n"},
		{"tr a-z A-Z", report.Style{}, "# title\n"},
	} {
		t.Setenv("PAGER", test.pager)
		t.Setenv("TERM", "xterm")
		var out bytes.Buffer
		if err := show([]byte("# title\n"), test.style, &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != test.want {
			t.Errorf("PAGER=%q, %+v: %q, want %q", test.pager, test.style, out.String(), test.want)
		}
	}
}
