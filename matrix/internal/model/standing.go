package model

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Standing says how much the builds of an environment matter.
type Standing int

// The values of a Standing. A user chooses one environment. Builds in other environments break nothing that he runs.
const (
	Noted    Standing = iota // findings are notes
	Searched                 // found by a search: an error only where no other environment with CUDA works, else a warning
	Chosen                   // named, active, or part of a tree at rest
)

// StandingOf returns the standing of each environment. Named environments matter most. Without them the active one
// does, and if that uses no CUDA, those that a search found do, too. In a tree at rest nobody has chosen an environment
// yet, and an image may not show its choice, so all of them matter. The only environment of a report also does.
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

// usesCUDA reports whether an environment contains a build that is for the GPU or may be.
func usesCUDA(t *tables.Tables, e *facts.Environment) bool {
	return slices.ContainsFunc(e.Builds, func(b facts.Build) bool {
		return asks(t, &b) &&
			(b.Accelerator == "cuda" || b.Accelerator == "")
	})
}
