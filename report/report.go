// Package report says a verdict in the format that is asked for. It decides nothing: the outcome, the severities and
// the order are matrix's.
package report

import (
	"fmt"
	"io"
	"strings"

	"cudacompat/matrix"
	"cudacompat/probe"
)

// Schema names the form of Report in JSON. Fields may be added under the same name, never renamed.
const Schema = "cudacompat/report/v1"

// Report is everything that a run has to say.
type Report struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	matrix.Verdict
	Facts probe.Facts `json:"facts"`
}

// Tool is the program that made the report.
type Tool struct {
	Version string `json:"version"`
	Matrix  string `json:"matrix"` // ISO date of the newest row that was checked
}

// Style is how the screen wants it.
type Style struct {
	Colour bool
	Width  int  // columns; 0: do not wrap
	All    bool // passed and unknown rules, too
	ASCII  bool // no marks outside ASCII
}

// Formats is every format, by name.
var Formats = []struct {
	Name  string
	Write func(io.Writer, Report, Style) error
}{
	{"text", Text},
	{"json", JSON},
	{"line", Line},
}

// clean makes a string from the machine fit for a terminal: control bytes, of which escape sequences are made, become
// U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
