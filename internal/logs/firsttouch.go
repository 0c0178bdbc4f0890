package logs

import (
	"slices"
	"strings"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
)

// firstTouch reports that a GPU was full before the program used it, if the first call that touched it ran out of
// memory. PyTorch's own allocator reports how much it wanted and held; CUDA reports only this if not even its context
// fits.
func (j *judging) firstTouch(d *Diagnosis) bool {
	if d.Cause != unsaidMemory || len(d.Lines) == 0 {
		return false
	}
	first := func(r record.Record) bool { return r.Line == d.Lines[0].Number && touchesFirst(&r) }
	if !slices.ContainsFunc(j.records, first) {
		return false
	}
	a := finding.FindAnswer("memory-taken")
	d.Cause, d.Blame, d.Rule, d.Because, d.Do = a.Cause, a.Blame, a.Rule, a.Because, slices.Clone(a.Do)
	return true
}

// touchesFirst reports whether an exception without numbers came from a call with which programs begin to use a GPU:
// moving a model there, or starting CUDA.
func touchesFirst(r *record.Record) bool {
	if r.Kind != "exception" || !strings.HasSuffix(r.Slot("message"), "CUDA error: out of memory") {
		return false
	}
	switch at := r.RaisingFrame(); at.Function {
	case "_lazy_init", "set_device":
		return true
	case "convert":
		return strings.Contains(at.Path, "torch/nn/modules/module.py")
	}
	return false
}
