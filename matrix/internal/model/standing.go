package model

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Standing is how much what is found in an environment counts.
type Standing int

// The standings. A user chooses one environment; what lies in others breaks nothing that he runs.
const (
	Noted    Standing = iota // findings are notes
	Searched                 // found by a search: an error only where no other environment with CUDA works, else a warning
	Chosen                   // named, active, or part of a tree at rest
)

// StandingOf tells how much each environment counts: the named ones; else the active one, together with those that a
// search found when the active one uses no CUDA. In a tree at rest nobody has chosen yet, and in an image nobody whom its
// configuration shows, so all of them do, as does the only one of a report.
func StandingOf(t *tables.Tables, f *facts.Facts) func(*facts.Environment) Standing {
	named := slices.ContainsFunc(f.Environments, func(e facts.Environment) bool { return e.Named })
	enough := slices.ContainsFunc(f.Environments, func(e facts.Environment) bool { return e.Active && usesCUDA(t, &e) })
	return func(e *facts.Environment) Standing {
		switch {
		case e.Named, !named && (e.Active || f.System.Rest && !enough || len(f.Environments) == 1 && !e.OtherUser):
			return Chosen
		case named, enough, e.OtherUser:
			return Noted
		}
		return Searched
	}
}

// usesCUDA reports whether an environment holds a build that is there for the GPU, or that may be.
func usesCUDA(t *tables.Tables, e *facts.Environment) bool {
	return slices.ContainsFunc(e.Builds, func(b facts.Build) bool {
		return asks(t, &b) &&
			(b.Accelerator == "cuda" || b.Accelerator == "")
	})
}
