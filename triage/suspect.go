package triage

import (
	"cmp"
	"slices"
)

// maxSuspects is how many lines are quoted of a log whose errors are not known.
const maxSuspects = 3

// withSuspects quotes the lines of failing of a log in which none is known, in its order: exceptions before lines that
// say aloud that they failed, those before others, and the first of equals. Whoever reads the log looks there first.
func (d *Diagnosis) withSuspects(records []record, sources []Source) {
	list := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.notice })
	slices.SortStableFunc(list, func(a, b record) int { return cmp.Compare(b.suspicion(), a.suspicion()) })
	list = firstOfEach(list)
	list = list[:min(len(list), maxSuspects)]
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.line, b.line))
	})
	for i := range list {
		f := list[i].finding(answer{})
		d.Lines = append(d.Lines, f.quote(sources))
	}
	d.Because = "None of the errors in this log is known here; these lines look most like the failure."
}

// suspicion is how much a line of failing looks like the one that ended its program.
func (r *record) suspicion() int {
	switch {
	case r.frames != nil:
		return 3
	case r.kind == "exception":
		return 2
	case aloud.MatchString(r.text):
		return 1
	}
	return 0
}

// firstOfEach drops lines that repeat what an earlier one says.
func firstOfEach(list []record) []record {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(r record) bool {
		said := message(r.text)
		double := seen[said]
		seen[said] = true
		return double
	})
}
