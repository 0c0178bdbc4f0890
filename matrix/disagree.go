package matrix

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// Disagreement is a fact of a build that its row in the tables tells otherwise than the build itself. What was read is
// judged; the row has a bug.
type Disagreement struct {
	Subject string   `json:"subject"`
	Fact    string   `json:"fact"` // "machine code"
	Read    string   `json:"read"`
	From    string   `json:"from"` // where it was read
	Table   string   `json:"table"`
	Source  []string `json:"source"` // the row's
}

// disagreements compares the machine code that was read from the builds with the tables. A build that may be one of
// several rows is compared with all: one that agrees is enough.
func (m *machine) disagreements() []Disagreement {
	list := []Disagreement{}
	for _, b := range m.builds {
		rows := slices.DeleteFunc(slices.Clone(b.rows), func(r row) bool { return len(r.SASS) == 0 })
		if len(b.SASS) == 0 || len(rows) == 0 || len(rows) < len(b.rows) || slices.ContainsFunc(rows, b.agrees) {
			continue
		}
		list = append(list, Disagreement{Subject: b.subject, Fact: "machine code", Read: codeWords(b.sassRead(), b.PTX),
			From:  cmp.Or(b.Path, b.From),
			Table: codeWords(rows[0].SASS, rows[0].PTX), Source: rows[0].source})
	}
	return list
}

// agrees reports whether a row names the targets that were read, in any order. PTX is compared where the row knows it.
func (b *build) agrees(r row) bool {
	read, table := codeWords(b.sassRead(), b.PTX), codeWords(r.SASS, r.PTX)
	if len(r.PTX) == 0 {
		read, _, _ = strings.Cut(read, " compute_") // machine code comes first
	}
	return read == table
}

// codeWords lists targets in order, each once; "none" is the tables' word for no PTX.
func codeWords(sass, ptx []string) string {
	var list []version.Code
	for _, text := range slices.Concat(sass, ptx) {
		if c, ok := version.ParseCode(text); ok && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, version.CompareCodes)
	var words []string
	for _, c := range list {
		words = append(words, c.String())
	}
	return strings.Join(words, " ")
}
