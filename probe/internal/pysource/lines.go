package pysource

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// line is one logical line: without comments, the text of its strings left out, joined where brackets are open.
type line struct {
	indent int
	text   string
}

// word is the first word of a line.
func (l line) word() string {
	end := strings.IndexFunc(l.text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
	if end < 0 {
		return l.text
	}
	return l.text[:end]
}

// scanner splits a source file into logical lines.
type scanner struct {
	data      []byte
	at        int
	libraries []string
}

// maxLibraries is how many names of libraries are kept of one file.
const maxLibraries = 64

var libraryName = lazyregexp.New(`^[\w./{}%*+-]*\.so(\.\d+)*$`)

func (s *scanner) next() (line, bool) {
	for s.at < len(s.data) {
		if l := s.one(); l.text != "" {
			return l, true
		}
	}
	return line{}, false
}

// one reads one logical line; its text is empty where there is none but comments and space.
func (s *scanner) one() line {
	var text strings.Builder
	indent, depth := 0, 0
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\t' || s.data[s.at] == '\f') {
		if indent++; s.data[s.at] == '\t' {
			indent += 7
		}
		s.at++
	}
	for s.at < len(s.data) {
		c := s.data[s.at]
		switch {
		case c == '#':
			s.comment()
			continue
		case c == '"' || c == '\'':
			s.quoted(c)
			text.WriteString(`""`)
			continue
		case c == '\\' && s.at+1 < len(s.data) && (s.data[s.at+1] == '\n' || s.data[s.at+1] == '\r'):
			s.at += 2
			text.WriteByte(' ')
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(depth-1, 0)
		case c == '\n' && depth == 0, c == ';' && depth == 0:
			s.at++
			return line{indent, strings.TrimSpace(text.String())}
		case c == '\n' || c == '\r':
			c = ' '
		}
		text.WriteByte(c)
		s.at++
	}
	return line{indent, strings.TrimSpace(text.String())}
}

func (s *scanner) comment() {
	for s.at < len(s.data) && s.data[s.at] != '\n' {
		s.at++
	}
}

// quoted passes over a string, and keeps the name of a library.
func (s *scanner) quoted(quote byte) {
	mark := string(quote)
	if strings.HasPrefix(string(s.data[s.at:min(s.at+3, len(s.data))]), strings.Repeat(mark, 3)) {
		mark = strings.Repeat(mark, 3)
	}
	s.at += len(mark)
	start := s.at
	for s.at < len(s.data) {
		switch {
		case s.data[s.at] == '\\':
			s.at++
		case len(mark) == 1 && s.data[s.at] == '\n': // it is not closed
			return
		case strings.HasPrefix(string(s.data[s.at:min(s.at+3, len(s.data))]), mark):
			s.keep(string(s.data[start:s.at]))
			s.at += len(mark)
			return
		}
		s.at++
	}
	s.at = len(s.data)
}

func (s *scanner) keep(text string) {
	if len(text) < 200 && strings.Contains(text, ".so") && libraryName.MatchString(text) && len(s.libraries) < maxLibraries &&
		!slices.Contains(s.libraries, text) {
		s.libraries = append(s.libraries, text)
	}
}
