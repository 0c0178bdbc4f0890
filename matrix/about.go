package matrix

import (
	"slices"
	"strings"

	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/internal/verdict"
	"cudacompat/matrix/internal/world"
	"cudacompat/probe/facts"
)

// describeSubjects writes the parts of every subject, those of builds by their subjects, and of every missing fact beside the
// words.
func describeSubjects(v *Verdict, f *facts.Facts, parts map[string]About) {
	var places []*facts.Environment
	for i := range f.Environments {
		if strings.HasPrefix(f.Environments[i].Path, "/") {
			places = append(places, &f.Environments[i])
		}
	}
	about := func(subject string) About {
		if a, ok := parts[subject]; ok {
			return a
		}
		a := About{Name: subject}
		i := slices.IndexFunc(places, func(env *facts.Environment) bool { return strings.HasSuffix(subject, world.PlaceOf(env)) })
		if i >= 0 {
			a = About{Name: strings.TrimSuffix(subject, world.PlaceOf(places[i])), Place: places[i].Path}
		}
		parts[subject] = a
		return a
	}
	for i := range v.Answers {
		v.Answers[i].About = about(v.Answers[i].Subject)
	}
	for i := range v.Findings {
		v.Findings[i].About = about(v.Findings[i].Subject)
	}
	for i := range v.Unknown {
		u := &v.Unknown[i]
		u.Of = about(u.Subject).Words()
		partsOfMissing(u)
	}
}

// questions are the words with which a fact begins that can follow "it is unknown".
var questions = []string{"whether", "which", "when", "where", "what", "why", "how"}

// supplied are the facts that a flag supplies.
var supplied = map[string]string{"the driver's version": "--driver", "the CUDA that the driver speaks": "--driver",
	"a GPU to compare with": "--gpu"}

// partsOfMissing takes a missing fact apart: the rules write it as one text, the fact first, then the reason.
func partsOfMissing(u *Missing) {
	fact, why, _ := strings.Cut(u.Missing, Because)
	switch why = Because + why; {
	case why == Because:
	case why == Unpinned:
		u.Reason = "unpinned"
	case why == Bare:
		u.Reason = "bare"
	case strings.HasPrefix(why, verdict.OfTables):
		u.Reason = "tables"
	default:
		u.Reason = "file"
	}
	if u.Reason != "" {
		u.Why = strings.TrimPrefix(why, ": ")
	}
	switch {
	case u.Missing == world.ExcludedMissing:
		u.Reason = "excluded"
	case strings.HasPrefix(u.Missing, rules.HeldMissing):
		u.Reason = "held"
	case strings.HasPrefix(fact, "why NVML fails"):
		u.Reason = "nvml"
	}
	u.Flag = supplied[u.Missing]
	word, _, _ := strings.Cut(fact, " ")
	if slices.Contains(questions, word) || u.Flag != "" || strings.HasPrefix(fact, "the ") && !strings.ContainsAny(fact, ":,") {
		u.Fact, u.Question = fact, slices.Contains(questions, word)
	}
}
