package offer

import (
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
)

// preferredPython is the Python for sets if none is named and none was found.
const preferredPython = "3.12"

// assume computes the sets for a machine with an unknown Python: for one Python, and for a choice without a set there,
// for the newest Python that has one.
func assume(t *matrix.Tables, target matrix.Target, want pin.Want, work func(matrix.Target) pin.Sets) pin.Sets {
	target.Python = assumedPython(t, want)
	sets := work(target)
	if len(sets.Target.GPUs) == 0 {
		return sets
	}
	sets.Target.Assumed = append(sets.Target.Assumed, "Python "+target.Python+" (--python changes it)")
	for _, python := range pythonsBeside(t, want, target.Python) {
		if !slices.ContainsFunc(sets.Missing, mayDependOnPython) {
			break
		}
		target.Python = python
		fill(&sets, work(target), python)
	}
	slices.SortStableFunc(sets.Sets, func(a, b pin.Set) int { return rank(a.Choice) - rank(b.Choice) })
	return sets
}

// assumedPython returns preferredPython, or if the release that is wanted has no wheel for it, the newest Python that it
// has one for.
func assumedPython(t *matrix.Tables, want pin.Want) string {
	list := matrix.Pythons(t, pin.Wanted{Framework: want.Package, Release: strings.TrimPrefix(want.Specifier, "==")})
	if len(list) == 0 || slices.Contains(list, preferredPython) {
		return preferredPython
	}
	return list[len(list)-1]
}

// pythonsBeside returns the other Pythons of the tables: the older ones first, the newest of them first.
func pythonsBeside(t *matrix.Tables, want pin.Want, assumed string) []string {
	list := matrix.Pythons(t, pin.Wanted{Framework: want.Package})
	if len(list) == 0 {
		list = matrix.Pythons(t, pin.Wanted{Framework: "torch"})
	}
	var older, newer []string
	for _, python := range list {
		switch c := version.CompareTexts(python, assumed); {
		case c < 0:
			older = append(older, python)
		case c > 0:
			newer = append(newer, python)
		}
	}
	slices.Reverse(older)
	return append(older, newer...)
}

// fill takes from other the sets of the choices that sets has none for.
func fill(sets *pin.Sets, other pin.Sets, python string) {
	sets.Missing = slices.DeleteFunc(sets.Missing, func(none pin.None) bool {
		i := slices.IndexFunc(other.Sets, func(s pin.Set) bool { return s.Choice == none.Choice })
		if i < 0 || !mayDependOnPython(none) {
			return false
		}
		set := other.Sets[i]
		set.Python = python
		set.Why += "; for Python " + python + ", since nothing for " + sets.Target.Python + " does"
		sets.Sets = append(sets.Sets, set)
		return true
	})
}

// mayDependOnPython reports whether another Python may have a set for a choice: no Python replaces a driver.
func mayDependOnPython(none pin.None) bool { return !none.Driver }

// rank returns the place of a choice among the others.
func rank(c pin.Choice) int { return slices.Index(pin.Choices(), c) }
