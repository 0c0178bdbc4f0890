package pydist

import (
	"strings"
)

// RecordedName is the file of a RECORD's line, whether or not the line tells its size.
func RecordedName(line []byte) string {
	text := strings.TrimSpace(string(line))
	if rest, quoted := strings.CutPrefix(text, `"`); quoted {
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	name, _, _ := strings.Cut(text, ",")
	return name
}
