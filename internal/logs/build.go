package logs

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
)

// span is a part of a log, by the numbers of its first line and of that after its last; none where it has no end.
type span struct{ from, to int }

func (s span) holds(line int) bool { return s.from < line && line < s.to }

// builds is how pip tells that it builds a package, and buildSucceeded how the log of that ends where it worked.
var (
	builds         = lazyregexp.New(`^ *(?:Running command (?:Preparing|Building|Getting)|Building wheels? for |Created build tracker: )`)
	buildSucceeded = lazyregexp.New(`^(?:Successfully (?:built|installed) \S|\w*EXIT_?(?:CODE|STATUS)=0$)`)
)

// build returns the part of a log in which pip builds a package, of a log that ends with pip's word that it is done.
func (s *scanner) build(lines []logLine) span {
	ends := bytes.Split(bytes.TrimRight(s.last.text, "\r\n"), []byte{'\n'})
	for _, line := range ends[max(0, len(ends)-closingLines):] {
		if !buildSucceeded.MatchString(clean(line)) {
			continue
		}
		for _, l := range lines {
			if builds.MatchString(l.text) {
				return span{l.number, s.lines + 1}
			}
		}
	}
	return span{}
}
