package report

import (
	"strconv"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/verdict"
)

// sourcePlace is how facts from a requirements file and from a lock say where they stand: "line 3", "package torch".
var sourcePlace = lazyregexp.New(`^(?:line (\d+)|package .+)$`)

// sourceLine returns the line of the judged file on which a finding rests; the first, where a lock names a package.
// False where it rests on none.
func sourceLine(f verdict.Finding, r Report) (int, bool) {
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
