package pysource

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// line is one logical line without comments, joined across open brackets. Its strings are empty, except for the names
// passed to import_module.
type line struct {
	indent int
	text   string
}

// word returns the first word of a line.
func (l line) word() string {
	end := strings.IndexFunc(l.text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
	if end < 0 {
		return l.text
	}
	return l.text[:end]
}

// scanner splits a source file into logical lines.
type scanner struct {
	data         []byte
	at           int
	skip         int  // lines with a deeper indentation are skipped; -1 skips none
	names        bool // collect the names of shared libraries
	libraries    []string
	librariesMet int  // number of library names found, including those not kept
	open         bool // the file ended inside brackets or inside a triple-quoted string
	last         int  // offset of the last line that has more than space and comments
	text         []byte
}

// maxLibraries is the maximum number of library names kept from one file.
const maxLibraries = 64

// namedImport matches the text before the module name in a call such as import_module("name").
var namedImport = lazyregexp.New(`\b(import_module|__import__)\(\s*"$`)

// callRoom is the number of bytes before a string in which namedImport is searched. The limit keeps the search fast: a
// table of ten thousand strings is one logical line.
const callRoom = 64

// libraryName matches the file name or path of a shared library, "libcudart.so.12".
var libraryName = lazyregexp.New(`^[\w./{}%*+-]*\.so(\.\d+)*$`)

// next returns the next logical line that is not empty, and false at the end of the file.
func (s *scanner) next() (line, bool) {
	for s.at < len(s.data) {
		if l := s.logicalLine(); l.text != "" {
			return l, true
		}
	}
	return line{}, false
}

// marks lists the bytes that logicalLine treats specially: quotes, brackets, comments, escapes and line ends.
var marks = [256]bool{'#': true, '"': true, '\'': true, '\\': true, '(': true, '[': true, '{': true, ')': true, ']': true, '}': true,
	'\n': true, '\r': true, ';': true}

// blank lists the bytes that cannot begin a statement.
var blank = [256]bool{'#': true, '\n': true, '\r': true, ';': true}

// logicalLine reads one logical line. The text is empty if the line has only comments and space, or is skipped.
func (s *scanner) logicalLine() line {
	indent, depth := s.indent(), 0
	if s.at < len(s.data) && !blank[s.data[s.at]] {
		s.last = s.at
	}
	keep := s.skip < 0 || indent <= s.skip
	s.text = s.text[:0]
	add := func(text ...byte) {
		if keep {
			s.text = append(s.text, text...)
		}
	}
	for s.at < len(s.data) {
		from := s.at
		for s.at < len(s.data) && !marks[s.data[s.at]] {
			s.at++
		}
		add(s.data[from:s.at]...)
		if s.at == len(s.data) {
			break
		}
		switch c := s.data[s.at]; c {
		case '#':
			s.comment()
		case '"', '\'':
			add('"')
			add(s.keptText(c)...)
			add('"')
		case '\\':
			s.at++
			if s.at < len(s.data) && (s.data[s.at] == '\n' || s.data[s.at] == '\r') {
				s.at++
				add(' ')
			} else {
				add(c)
			}
		case '\n', ';':
			s.at++
			if depth == 0 {
				return s.line(indent)
			}
			add(' ')
		case '\r':
			s.at++
			add(' ')
		default:
			if c == '(' || c == '[' || c == '{' {
				depth++
			} else {
				depth = max(depth-1, 0)
			}
			s.at++
			add(c)
		}
	}
	s.open = s.open || depth > 0
	return s.line(indent)
}

// keptText skips a string literal. It returns the string if it is the module name passed to import_module or
// __import__, otherwise nil.
func (s *scanner) keptText(quote byte) []byte {
	start := s.at
	s.skipString(quote)
	before, _ := bytes.CutSuffix(s.text, []byte{'"'})
	if !bytes.HasSuffix(bytes.TrimRight(before, " \t\n"), []byte{'('}) || !namedImport.Match(s.text[max(len(s.text)-callRoom, 0):]) {
		return nil
	}
	return bytes.Trim(s.data[start:s.at], `"'`)
}

func (s *scanner) line(indent int) line { return line{indent, string(bytes.TrimSpace(s.text))} }

// indent passes over the space before a line, and counts it.
func (s *scanner) indent() (n int) {
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\t':
			n += 8
		case ' ', '\f':
			n++
		default:
			return n
		}
	}
	return n
}

func (s *scanner) comment() {
	if i := bytes.IndexByte(s.data[s.at:], '\n'); i >= 0 {
		s.at += i
		return
	}
	s.at = len(s.data)
}

// skipString passes over a string, and keeps the name of a library.
func (s *scanner) skipString(quote byte) {
	rest, long := s.data[s.at:], false
	if long = len(rest) > 2 && rest[1] == quote && rest[2] == quote; long {
		s.at += 2
	}
	s.at++
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n' && !long: // it is not closed
			return
		case c == quote && !long:
			s.keep(s.data[start:s.at])
			s.at++
			return
		case c == quote && bytes.HasPrefix(s.data[s.at+1:], []byte{quote, quote}):
			s.at += 3
			return
		}
	}
	s.at, s.open = len(s.data), s.open || long
}

func (s *scanner) keep(text []byte) {
	if !s.names || len(text) >= 200 || !bytes.Contains(text, []byte(".so")) || !libraryName.Match(text) {
		return
	}
	if s.librariesMet++; len(s.libraries) < maxLibraries && !slices.Contains(s.libraries, string(text)) {
		s.libraries = append(s.libraries, string(text))
	}
}
