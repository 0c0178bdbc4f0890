package report

import (
	"strconv"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/verdict"
)

// sourcePlace matches the place of a fact from a requirements file or a lock: "line 3", "package torch".
var sourcePlace = lazyregexp.New(`^(?:line (\d+)|package .+)$`)

// FindSourceLine returns the line of the judged file that a finding is based on, or the first line if a lock names a
// package. It returns false if there is none.
func FindSourceLine(f verdict.Finding, r Report) (int, bool) {
	if r.Source == "" {
		return 0, false
	}
	for _, e := range f.Evidence {
		m := sourcePlace.FindStringSubmatch(e.From)
		if m == nil {
			continue
		}
		line, err := strconv.Atoi(m[1])
		if err != nil {
			line = 1
		}
		return line, true
	}
	return 0, false
}
