package matrix

import (
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// describeSubjects fills in the parts of every subject.
func describeSubjects(v *verdict.Verdict, f *facts.Facts, parts map[string]verdict.SubjectParts) {
	var places []*facts.Environment
	for i := range f.Environments {
		if strings.HasPrefix(f.Environments[i].Path, "/") {
			places = append(places, &f.Environments[i])
		}
	}
	about := func(subject string) verdict.SubjectParts {
		if a, ok := parts[subject]; ok {
			return a
		}
		a := verdict.SubjectParts{Name: subject}
		i := slices.IndexFunc(places, func(env *facts.Environment) bool { return strings.HasSuffix(subject, model.PlaceOf(env)) })
		if i >= 0 {
			a = verdict.SubjectParts{Name: strings.TrimSuffix(subject, model.PlaceOf(places[i])), Place: places[i].Path}
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
	}
}
