package pysource

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Summary is all that is asked of a source, for who does not keep its text.
type Summary struct {
	Module
	Unfinished bool     // it ends within brackets or a text of several lines, or in the header of a statement
	Makes      bool     // code in it may make names that do not stand in it
	Names      []string // the words outside of its functions, sorted
}

// Summarize reads a source file.
func Summarize(data []byte) Summary {
	sum := Summary{Module: Parse(data), Makes: makesNames.Match(data)}
	p := newParser() // for which functions are closed, as they are for the names that a module has
	s := scanner{data: data, skip: -1}
	words := map[string]bool{}
	for range maxLines {
		line, more := s.next()
		if !more {
			break
		}
		for word := range strings.FieldsFuncSeq(line.text, func(r rune) bool { return !inWord(r) }) {
			if word[0] < '0' || word[0] > '9' {
				words[word] = true
			}
		}
		p.line(line)
		s.skip = p.skip()
	}
	for word := range words {
		sum.Names = append(sum.Names, word)
	}
	slices.Sort(sum.Names)
	sum.Unfinished = s.open || isUnfinished(data[s.last:])
	return sum
}

func inWord(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127
}

// isUnfinished reports whether the last line of a source is the header of a statement that lacks the rest.
func isUnfinished(last []byte) bool {
	l := (&scanner{data: last, skip: -1}).logicalLine()
	return compounds[l.word()] && (strings.HasSuffix(l.text, ":") || !strings.Contains(l.text, ":")) && headers.MatchString(l.text)
}

var (
	// headers matches the beginning of a compound statement, and nothing that a name can begin with.
	headers = lazyregexp.New(`^(async +)?(def|class|if|elif|while|for|with|except|try|else|finally)\b *[\w(\[{:"~-]?`)
	// makesNames matches what makes names that do not stand in a source, or that its functions give to the module.
	makesNames = lazyregexp.New(`import\s*\*|__getattr__|globals\(|locals\(|vars\(|exec\(|setattr|__dict__|sys\.modules|global `)
)

// MayBind reports whether a source can give a name to who imports it from there: the name stands in it, or code may make
// it.
func (s Summary) MayBind(name string) bool { return name == "*" || s.Makes || s.Stands(name) }

// Stands reports whether a name stands in a source, outside of its functions.
func (s Summary) Stands(name string) bool {
	_, stands := slices.BinarySearch(s.Names, name)
	return stands
}
