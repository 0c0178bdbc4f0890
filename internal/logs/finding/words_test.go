package finding

import (
	"slices"
	"testing"

	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/tables"
)

// TestAnswers holds the form of the words: a sentence of at most 120 characters without its slots, at most four steps,
// and one side for each cause, the same as the rows' of that cause.
func TestAnswers(t *testing.T) {
	blames := map[string]decide.Blame{}
	for _, s := range signature.Load(tables.Embedded()) {
		blames[s.Cause] = s.Blame
	}
	for name := range Book().Answers {
		a := FindAnswer(name)
		if bare := signature.Placeholder.ReplaceAllString(a.Because, ""); len(bare) > record.MaxSentence || len(a.Do) > 4 {
			t.Errorf("%s: %d characters, %d steps", name, len(bare), len(a.Do))
		}
		if b, seen := blames[a.Cause]; seen && b != a.Blame && a.Cause != "" {
			t.Errorf("%s: the cause %s is blamed on %s, its rows on %s", name, a.Cause, a.Blame, b)
		}
		blames[a.Cause] = a.Blame
	}
	for kind := range weighers {
		known := kind == "exception" || kind == "complaint" || slices.ContainsFunc(record.Forms, func(g record.Form) bool { return g.Kind == kind }) ||
			kind == "build-files" || kind == "nccl-said" || kind == "kernel-fault" || kind == "first-rank" // of several lines: see TestBuilds, TestRoot
		if !known {
			t.Errorf("no grammar makes a record %s", kind)
		}
	}
	for _, g := range record.Forms {
		if weighers[g.Kind] == nil {
			t.Errorf("a record %s is weighed by nobody", g.Kind)
		}
	}
}
