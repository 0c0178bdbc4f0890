package pysource

import (
	"bytes"
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
	sum := Summary{Module: Parse(data), Makes: makesNames(data)}
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
	return compounds[l.word()] && (strings.HasSuffix(l.text, ":") || !hasColon(l.text)) && headers.MatchString(l.text)
}

// hasColon reports whether a statement has a colon outside of its brackets.
func hasColon(text string) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// headers matches the beginning of a compound statement, and nothing that a name can begin with.
var headers = lazyregexp.New(`^(async +)?(def|class|if|elif|while|for|with|except|try|else|finally)\b *[\w(\[{:"~-]?`)

// namesMade lists texts of code that computes names, or that exports a module's functions as names.
var namesMade = [][]byte{[]byte("__getattr__"), []byte("globals("), []byte("locals("), []byte("vars("), []byte("exec("),
	[]byte("setattr"), []byte("__dict__"), []byte("sys.modules"), []byte("global ")}

// makesNames reports whether a source may define names that are not in it. It searches for literals: one regular
// expression with the same alternatives took a third of the time for a whole image.
func makesNames(data []byte) bool {
	return importsAll(data) || slices.ContainsFunc(namesMade, func(text []byte) bool { return bytes.Contains(data, text) })
}

// importsAll reports whether a source has "import *", with any white space between the two.
func importsAll(data []byte) bool {
	word := []byte("import")
	for {
		i := bytes.Index(data, word)
		if i < 0 {
			return false
		}
		data = bytes.TrimLeft(data[i+len(word):], "\t\n\f\r ")
		if bytes.HasPrefix(data, []byte("*")) {
			return true
		}
	}
}

// MayBind reports whether a name can be imported from a source: the name is in it, or code may compute it.
func (s Summary) MayBind(name string) bool { return name == "*" || s.Makes || s.Stands(name) }

// Stands reports whether a name stands in a source, outside of its functions.
func (s Summary) Stands(name string) bool {
	_, stands := slices.BinarySearch(s.Names, name)
	return stands
}
