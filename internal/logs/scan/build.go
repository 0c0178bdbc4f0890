package scan

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
)

// span is a range of lines by number: the first, and the one after the last. It may be empty or have no end.
type span struct{ from, to int }

func (s span) holds(line int) bool { return s.from < line && line < s.to }

// builds matches pip's line that it builds a package, and buildSucceeded the line that the build succeeded.
var (
	builds         = lazyregexp.New(`^ *(?:Running command (?:Preparing|Building|Getting)|Building wheels? for |Created build tracker: )`)
	buildSucceeded = lazyregexp.New(`^(?:Successfully (?:built|installed) \S|\w*EXIT_?(?:CODE|STATUS)=0$)`)
)

// build returns the part of a log in which pip builds a package, if the log ends with pip's line that it succeeded.
func (s *Scanner) build(lines []logtext.Line) span {
	ends := bytes.Split(bytes.TrimRight(s.last.text, "\r\n"), []byte{'\n'})
	for _, line := range ends[max(0, len(ends)-closingLines):] {
		if !buildSucceeded.MatchString(logtext.Clean(line)) {
			continue
		}
		for _, l := range lines {
			if builds.MatchString(l.Text) {
				return span{l.Number, s.lines + 1}
			}
		}
	}
	return span{}
}
