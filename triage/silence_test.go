package triage

import (
	"os"
	"strings"
	"testing"
)

// TestOrdinaryLines holds that no signature of a fault matches a line that healthy programs print, or one that
// only speaks about an error.
func TestOrdinaryLines(t *testing.T) {
	text, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		t.Fatal(err)
	}
	if d := explain(t, string(text)); d.Cause != NothingFound || d.Blame != Unknown || len(d.Lines) != 0 {
		t.Errorf("the whole log: %s, %s, %v", d.Blame, d.Cause, d.Lines)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		for _, s := range table(t) {
			if s.Blame != None && s.ID != trouble && containsAny(line, s.Literal) && s.match(clean([]byte(line))) != nil {
				t.Errorf("line %d is no error and %q matches it: %s", i+1, s.ID, line)
			}
		}
	}
	t.Logf("%d lines", len(lines))
}
