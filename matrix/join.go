package matrix

import (
	"slices"

	"cudacompat/matrix/verdict"
)

// Join combines the verdicts of several machines into one, as Check does for several targets. Each name stands before the
// target's own. The outcome is that of the worst machine.
func Join(names []string, verdicts []verdict.Verdict) verdict.Verdict {
	joined := emptyVerdict()
	joined.Outcome = verdict.Compatible
	for i, v := range verdicts {
		appendNamed(&joined.Judged, v.Judged, names[i], func(j *verdict.Judged) *string { return &j.Target })
		appendNamed(&joined.Answers, v.Answers, names[i], func(a *verdict.BuildAnswer) *string { return &a.Target })
		appendNamed(&joined.Findings, v.Findings, names[i], func(f *verdict.Finding) *string { return &f.Target })
		appendNamed(&joined.Passed, v.Passed, names[i], func(p *verdict.Passed) *string { return &p.Target })
		appendNamed(&joined.Unknown, v.Unknown, names[i], func(u *verdict.Missing) *string { return &u.Target })
		appendNamed(&joined.Suppressed, v.Suppressed, names[i], func(s *verdict.Suppressed) *string { return &s.Target })
		joined.Disagreements = append(joined.Disagreements, v.Disagreements...)
		if i == 0 {
			joined.Waivers = slices.Clone(v.Waivers)
		} else {
			for w := range v.Waivers {
				joined.Waivers[w].Matched += v.Waivers[w].Matched
			}
		}
		if outcomeRank[v.Outcome] > outcomeRank[joined.Outcome] {
			joined.Outcome = v.Outcome
		}
	}
	sortFindings(&joined)
	return joined
}

// outcomeRank orders outcomes, the worst last.
var outcomeRank = map[verdict.Outcome]int{verdict.Compatible: 0, verdict.Inconclusive: 1, verdict.Incompatible: 2}

// appendNamed appends copies of a list's elements, with the machine's name before the target of each.
func appendNamed[T any](to *[]T, list []T, name string, target func(*T) *string) {
	for _, element := range list {
		field := target(&element)
		if *field != "" {
			*field = ", " + *field
		}
		*field = name + *field
		*to = append(*to, element)
	}
}
