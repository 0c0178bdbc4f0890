package matrix

import (
	"maps"
	"slices"

	"cudacompat/probe"
)

// standing is how much what is found in an environment counts.
type standing int

// The standings. A user chooses one environment; what lies in others breaks nothing that he runs.
const (
	noted    standing = iota // findings are notes
	searched                 // found by a search: an error only where no other environment with CUDA works, else a warning
	chosen                   // named, active, or part of an image
)

// standingOf tells how much each environment counts: the named ones; else the active one, together with those that a
// search found when the active one uses no CUDA. In a tree at rest nobody has chosen yet, so all of them do, as does
// the only one of a report.
func standingOf(f *probe.Facts) func(*probe.Environment) standing {
	named := slices.ContainsFunc(f.Environments, func(e probe.Environment) bool { return e.Named })
	enough := slices.ContainsFunc(f.Environments, func(e probe.Environment) bool { return e.Active && usesCUDA(&e) })
	return func(e *probe.Environment) standing {
		switch {
		case e.Named, !named && (e.Active || f.System.Rest || len(f.Environments) == 1 && !e.OtherUser):
			return chosen
		case named, enough, e.OtherUser:
			return noted
		}
		return searched
	}
}

// usesCUDA reports whether an environment holds a build that is there for the GPU, or that may be.
func usesCUDA(e *probe.Environment) bool {
	return slices.ContainsFunc(e.Builds, func(b probe.Build) bool {
		return asks(&b) &&
			(b.Accelerator == "cuda" || b.Accelerator == "")
	})
}

// yield turns the errors of environments that a search found into warnings where another one works: that is the one
// which people use on this machine. What is not known of an environment stays unknown.
func (j *judgement) yield(answers []BuildAnswer) {
	if !slices.Contains(slices.Collect(maps.Values(j.sound(answers))), true) {
		return
	}
	broken := map[string]bool{} // the subjects that give way
	for i, b := range j.builds {
		if b.standing == searched && answers[i].Answer == Broken {
			broken[b.subject], answers[i].Counts = true, false
		}
	}
	for i := range j.verdict.Findings {
		if f := &j.verdict.Findings[i]; broken[f.Subject] && f.Target == j.name && f.Severity == Error {
			f.Severity = Warning
		}
	}
}

// sound tells of each environment that a search found and that uses CUDA whether all its builds work.
func (j *judgement) sound(answers []BuildAnswer) map[string]bool {
	works := map[string]bool{}
	for i, b := range j.builds {
		if b.standing != searched || b.accelerator == "cpu" || b.goesOn() {
			continue
		}
		before, met := works[b.env.Path]
		works[b.env.Path] = (before || !met) && answers[i].Answer != Broken && answers[i].Answer != Unknown
	}
	return works
}
