package links

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
)

// FindDisagreements compares the machine code read from builds with the tables. If a build may be one of several rows, one
// row that agrees is enough.
func FindDisagreements(m *model.Machine) []verdict.Disagreement {
	list := []verdict.Disagreement{}
	for _, b := range m.Builds {
		rows := slices.DeleteFunc(slices.Clone(b.Rows), func(r model.Row) bool { return len(r.SASS) == 0 })
		if len(b.SASS) == 0 || len(rows) == 0 || len(rows) < len(b.Rows) || slices.ContainsFunc(rows, func(r model.Row) bool { return agrees(b, r) }) {
			continue
		}
		list = append(list, verdict.Disagreement{Subject: b.Subject, Fact: "machine code", Read: codeWords(b.SassRead(), b.PTX),
			From:  cmp.Or(b.Path, b.From),
			Table: codeWords(rows[0].SASS, rows[0].PTX), Source: rows[0].Source})
	}
	return list
}

// agrees reports whether a row lists the targets that were read, in any order. It compares PTX only if the row lists
// it.
func agrees(b *model.Build, r model.Row) bool {
	read, table := codeWords(b.SassRead(), b.PTX), codeWords(r.SASS, r.PTX)
	if len(r.PTX) == 0 {
		read, _, _ = strings.Cut(read, " compute_") // machine code comes first
	}
	return read == table
}

// codeWords lists targets in order, each once. "none" is the tables' word for no PTX.
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
