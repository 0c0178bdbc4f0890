package finding

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"cudacompat/data"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/diagnosis"
	"cudacompat/internal/logs/signature"
)

// Answer is the meaning of a record, in words whose {names} are its slots.
type Answer struct {
	name    string // by which a grammar's verdict asks for it
	Cause   string
	Blame   decide.Blame
	Rule    string
	weight  int
	Because string
	Do      []string
}

// Book returns the stanzas of data/diagnosis, which a test has linted.
var Book = sync.OnceValue(func() *diagnosis.Book {
	book, err := diagnosis.Read(data.Diagnoses)
	if err != nil {
		panic(err)
	}
	return book
})

// FindAnswer returns the answer with a name, or the zero answer, whose name is "".
func FindAnswer(name string) Answer {
	a := Book().Answers[name]
	if a == nil {
		return Answer{}
	}
	return Answer{name: name, Cause: a.Cause, Blame: decide.Blame(a.Blame), Rule: a.Rule, weight: signature.Weights[a.Weight], Because: a.Because, Do: a.Do}
}

// Answers returns the causes that grammars find, in the form of signatures, for their pages.
func Answers() []signature.Signature {
	var all []signature.Signature
	for _, name := range slices.Sorted(maps.Keys(Book().Answers)) {
		a := FindAnswer(name)
		if a.Cause == "" || a.Because == "{sentence}" {
			continue
		}
		s := signature.Signature{ID: name, Cause: a.Cause, Blame: a.Blame, Rule: a.Rule, Because: slotNames(a.Because)}
		for _, step := range a.Do {
			s.Do = append(s.Do, slotNames(advise.Plain(step)))
		}
		all = append(all, s)
	}
	return all
}

// nouns maps a slot to the noun that pages without a log show instead.
var nouns = map[string]string{"library": "a library", "module": "a module", "header": "a header", "symbol": "a symbol", "tool": "a tool",
	"package": "a package", "range": "another", "requirement": "the package", "version": "a version", "what": "its library", "cuda": "its release", "path": "a file of the driver",
	"target": "the target", "operator": "an operator", "runtime": "in use", "socket": "the socket", "subject": "a part", "name": "a call", "code": "its number",
	"meaning": "its meaning", "want": "memory", "wanted": "another release", "found": "an older one", "needs": "one release", "has": "another",
	"image": "of that name", "part": "a part", "element": "of that name", "speaker": "a service", "tagged": "it", "job": "the job", "model": "of that name",
	"pod": "a pod", "state": "its state", "rank": "of one process", "signal": "a signal", "asker": "one package", "asked": "another package",
	"root": "the package", "option": "of that name", "tools": "its tools", "standard": "a newer C++", "intrinsic": "an instruction", "command": "of that name",
	"expression": "its condition", "fault": "an invalid access", "language": "the language", "said": "what its line says", "generic": "it"}

// trailing matches a slot at the end of a sentence, which quotes the log.
var trailing = lazyregexp.New(`[:;] *\{\w+\}\.?$| \(\{\w+\}\)`)

// slotNames returns words in the form for pages without a log: in a command, a slot is a placeholder, elsewhere a noun.
func slotNames(words string) string {
	words = trailing.ReplaceAllString(words, "")
	if words != "" && !strings.HasSuffix(words, ".") && words[0] >= 'A' && words[0] <= 'Z' {
		words += "."
	}
	var out strings.Builder
	for i, part := range strings.Split(words, "`") {
		if i > 0 {
			out.WriteByte('`')
		}
		out.WriteString(signature.Placeholder.ReplaceAllStringFunc(part, func(slot string) string {
			name := strings.Trim(slot, "{}")
			if noun := nouns[name]; i%2 == 0 && noun != "" {
				return noun
			}
			return strings.ToUpper(name)
		}))
	}
	text := out.String()
	if strings.HasPrefix(words, "{") && text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// Means returns the paragraph of a cause's page: its own, otherwise the sentence that most of its lines share.
func Means(own []signature.Signature) string {
	if len(own) == 0 {
		return ""
	}
	if means := Book().Means[own[0].Cause]; means != "" {
		return means
	}
	count, best := map[string]int{}, own[0]
	for _, s := range own {
		if count[s.Because]++; count[s.Because] > count[best.Because] {
			best = s
		}
	}
	because, _ := best.Words()
	return because
}
