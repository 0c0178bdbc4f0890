package triage

import (
	"strings"
	"testing"
)

// TestLastWords: what a program says last and aloud is why it ended; the same line with a program going on below it is
// not, nor is one of an area that says nothing of the machine, or of a part that programs go on without.
func TestLastWords(t *testing.T) {
	const more = 40
	goesOn := strings.Repeat("\nepoch 1 loss 0.5", more)
	for _, c := range []struct {
		log  string
		want Blame
	}{
		{"ERROR: flurbtool is not installed", Environment},
		{"ERROR: flurbtool is not installed" + goesOn, Unknown},
		{"starting" + goesOn + "\n[FATAL] no GPU was found: flurb", Environment},
		{"flurb: error: could not resolve host flurb.example", Environment},
		{"ERROR: plugin flurb is not installed", Unknown},
		{"ERROR: flurb went wrong", Unknown},
		{"terminate called after throwing\n  what():  flurb(): subsystem dimensions mismatch\nAborted", Program},
		{"terminate called after throwing\n  what():  flurb(): subsystem dimensions mismatch" + goesOn, Unknown},
		{"AssertionError: flurb size must equal world size (4)", Unknown},
		{"KeyError: 'shape'", Unknown},
	} {
		if d := explain(t, c.log); d.Blame != c.want {
			t.Errorf("%.80q: %s (%s), want %s", c.log, d.Blame, d.Cause, c.want)
		}
	}
}
