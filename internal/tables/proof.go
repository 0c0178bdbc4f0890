package tables

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables/sheet"
)

// Proof is what a row rests on.
type Proof string

// The three proofs. A linted table's rows have one of them.
const (
	Artefact     Proof = "artefact"      // read from the wheel
	TwoSources   Proof = "two_sources"   // independent ones
	SingleSource Proof = "single_source" // marked so
)

// singleMark stands in the column "verified" of a row that one source alone vouches for.
const singleMark = "single-source"

// Proofs are the proofs, the strongest first.
var Proofs = []Proof{Artefact, TwoSources, SingleSource}

// provenTables are the tables whose rows must say what they rest on, in their column "verified".
var provenTables = []string{"torch", "tensorflow", "jax", "nccl", "cudnn"}

// readFrom matches what was read of a wheel and when: "METADATA version.py libtorch_cuda.so 2026-11-21".
var readFrom = lazyregexp.New(`^\S+( \S+)* \d{4}-\d\d-\d\d$`)

// proofOf reads a row's proof from its cells. Without a mark, two sources of different origin are needed; a wheel's
// name and a page of the project that made it are such.
func proofOf(verified string, source []string) (Proof, error) {
	wheel := slices.ContainsFunc(source, func(s string) bool { return strings.HasPrefix(s, "wheel ") })
	switch {
	case verified == singleMark:
		return SingleSource, nil
	case readFrom.MatchString(verified) && wheel:
		return Artefact, nil
	case readFrom.MatchString(verified):
		return "", errors.New("it says what was read, but no source names the wheel")
	case verified != "":
		return "", fmt.Errorf("%q is neither what was read and the day, nor %s", verified, singleMark)
	case len(origins(source)) < 2:
		return "", fmt.Errorf("the row has one source and does not say so: write %s, or name a second", singleMark)
	}
	return TwoSources, nil
}

// origins returns whose word the sources are: a repository, a host, the artefacts.
func origins(source []string) []string {
	var list []string
	for _, s := range source {
		origin := "wheel"
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			origin = u.Host
			if parts := strings.Split(strings.Trim(u.Path, "/"), "/"); u.Host == "github.com" && len(parts) > 1 {
				origin += "/" + parts[0] + "/" + parts[1]
			}
		}
		if !slices.Contains(list, origin) {
			list = append(list, origin)
		}
	}
	return list
}

// proofs checks that every row of the tables in proven says what it rests on.
func (t *Tables) proofs() error {
	for _, table := range provenTables {
		s, _ := sheetNamed(table)
		g, err := s.ReadGrid(t.from)
		if err != nil {
			return err
		}
		for i := range g.Rows {
			if _, err := readProof(g, i); err != nil {
				return g.Places[i](g.Column("verified")).WrapError(fmt.Errorf("verified: %w", err))
			}
		}
	}
	return nil
}

func readProof(g sheet.Grid, row int) (Proof, error) {
	return proofOf(g.Cell(row, "verified"), sheet.SourcesOf(g.Cell(row, "source")))
}

// CountProofs counts the rows of each proof; false for a table that does not say.
func CountProofs(g sheet.Grid) (map[Proof]int, bool) {
	if !slices.Contains(provenTables, g.Table) {
		return nil, false
	}
	count := map[Proof]int{}
	for i := range g.Rows {
		if p, err := readProof(g, i); err == nil {
			count[p]++
		}
	}
	return count, true
}
