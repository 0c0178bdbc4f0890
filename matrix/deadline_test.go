package matrix

import (
	"context"
	"slices"
	"testing"

	"cudacompat/matrix/verdict"
)

// countdown is a context that ends after a number of calls to Err.
type countdown struct {
	context.Context
	left int
}

// Err implements context.Context.
func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestDeadline stops judging at every possible point. The verdict contains what was found until then, and no build is
// said to work.
func TestDeadline(t *testing.T) {
	node := many(3, 4)
	whole := Check(context.Background(), Embedded(), node, nil, verdict.Policy{})
	if slices.ContainsFunc(whole.Unknown, func(u verdict.Missing) bool { return u.Rule == "not-looked-at" }) {
		t.Fatal("something is left over without a deadline")
	}
	ended := 0
	for left := range 1000 {
		v := Check(&countdown{context.Background(), left}, Embedded(), node, nil, verdict.Policy{})
		if !slices.ContainsFunc(v.Unknown, func(u verdict.Missing) bool { return u.Rule == "not-looked-at" }) {
			break
		}
		ended++
		if v.Disagreements == nil { // which would be null in JSON
			t.Errorf("after %d steps the list of disagreements is nil", left)
		}
		for _, a := range v.Answers {
			if a.Answer != verdict.Broken && a.Answer != verdict.Unknown {
				t.Errorf("after %d steps %s is said to be %q", left, a.Subject, a.Answer)
			}
		}
		if v.Outcome == verdict.Compatible || v.Count(verdict.Error) > whole.Count(verdict.Error) {
			t.Errorf("after %d steps the outcome is %s with %d errors", left, v.Outcome, v.Count(verdict.Error))
		}
	}
	if ended < 50 {
		t.Errorf("judging could be ended at %d points only", ended)
	}
}
