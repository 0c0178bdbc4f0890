package logs

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"cudacompat/data"
	"cudacompat/internal/logs/diagnosis"
)

// answer is what a record means, in words whose {names} are its slots.
type answer struct {
	name    string // by which a grammar's verdict asks for it
	cause   string
	blame   Blame
	rule    string
	weight  int
	because string
	do      []string
}

// diagnoses are the stanzas of data/diagnosis, of which a test has seen that they are sound.
var diagnoses = sync.OnceValue(func() *diagnosis.Book {
	book, err := diagnosis.Read(data.Diagnoses)
	if err != nil {
		panic(err)
	}
	return book
})

// answerOf is the answer of a name; the zero answer, which has none, where there is none.
func answerOf(name string) answer {
	a := diagnoses().Answers[name]
	if a == nil {
		return answer{}
	}
	return answer{name: name, cause: a.Cause, blame: Blame(a.Blame), rule: a.Rule, weight: weights[a.Weight], because: a.Because, do: a.Do}
}

// Answers are the causes that grammar finds, in the form of the rows that name the others: for their pages.
func Answers() []Signature {
	var all []Signature
	for _, name := range slices.Sorted(maps.Keys(diagnoses().Answers)) {
		a := answerOf(name)
		if a.cause == "" || a.because == "{sentence}" {
			continue
		}
		s := Signature{ID: name, Cause: a.cause, Blame: a.blame, Rule: a.rule, Because: slotNames(a.because)}
		for _, step := range a.do {
			s.Do = append(s.Do, slotNames(step))
		}
		all = append(all, s)
	}
	return all
}

// slotNames are words with the names of their slots, as pages without a log have them.
func slotNames(words string) string {
	return placeholder.ReplaceAllStringFunc(words,
		func(name string) string { return strings.ToUpper(strings.Trim(name, "{}")) })
}
