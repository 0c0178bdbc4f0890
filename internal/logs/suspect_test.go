package logs

import (
	"strings"
	"testing"
)

// TestSuspects checks which lines of a log with unknown errors are shown: the exception first, then other lines in the
// log's order, repeated ones once, and no notices.
func TestSuspects(t *testing.T) {
	d := explain(t, strings.Join([]string{
		"WARNING: the flurb cache could not be opened",
		"E0101 flurb: failed to seed the gronk",
		"E0101 flurb: failed to seed the gronk",
		"Traceback (most recent call last):",
		`  File "/usr/lib/python3.11/gronk.py", line 7, in seed`,
		"FlurbError: no gronk is seeded",
		"E0101 flurb: failed to stop the gronk",
		"E0101 flurb: failed to free the gronk",
	}, "\n"))
	var got []int
	for _, l := range d.Lines {
		got = append(got, l.Number)
	}
	if d.Cause != NothingFound || len(got) != 3 || got[0] != 6 || got[1] != 2 || got[2] != 7 {
		t.Errorf("%s, lines %v; want %s, lines 6, 2 and 7", d.Cause, got, NothingFound)
	}
}
