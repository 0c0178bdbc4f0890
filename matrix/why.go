package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/rules"
)

// Rules returns every rule, causes before their consequences.
func Rules() []Rule { return slices.Clone(rules.All) }

// RuleIDs returns the ids of Rules.
func RuleIDs() []string {
	var ids []string
	for _, r := range rules.All {
		ids = append(ids, r.ID)
	}
	return ids
}

// Why explains one value of one row.
type Why struct {
	Table   string   `json:"table"`   // "torch"
	Key     string   `json:"key"`     // "2.6.0 cu124 linux_x86_64"
	Column  string   `json:"column"`  // a column of the table, or "driver", which is worked out
	Value   string   `json:"value"`   // empty: not known
	Because string   `json:"because"` // how a value that is in no cell was worked out
	Rules   []string `json:"rules"`   // the rules that read it
	// what was read to make the row, "METADATA version.py libtorch_cuda.so"; empty in tables that do not say
	Verified string   `json:"verified"`
	Source   []string `json:"source"`  // addresses, or wheels with their SHA-256
	Checked  string   `json:"checked"` // ISO date on which the oldest of its sources was last read
}

// columnReaders returns the rules that read a column.
func columnReaders(column string) []string {
	list := []string{}
	for _, rule := range rules.All {
		if slices.Contains(rule.Reads, column) {
			list = append(list, rule.ID)
		}
	}
	return list
}

// Whys explains one column in each of the grid's rows.
func Whys(t *Tables, g sheet.Grid, column string) []Why {
	var list []Why
	for i, row := range g.Rows {
		w := Why{Table: g.Table, Key: strings.Join(row[:g.Keys], " "), Column: column, Value: g.Cell(i, column),
			Rules: columnReaders(column), Verified: g.Cell(i, "verified"), Checked: g.Day(i),
			Source: sheet.SourcesOf(g.Cell(i, "source"))}
		if g.Column(column) < 0 {
			w.addFloor(t, g.Cell(i, "cuda"), g.Cell(i, "platform"))
		}
		list = append(list, w)
	}
	return list
}

// addFloor adds the minimum driver of a row's CUDA on its platform, with its own source.
func (w *Why) addFloor(t *Tables, cuda, platform string) {
	v := version.ParseOrZero(cuda)
	if !v.Known() {
		return
	}
	need, least, source := t.Floor(v, platform == "win_amd64")
	w.Value, w.Source, w.Verified = strings.TrimPrefix(need, "driver "), source, ""
	switch {
	case t.Family(v) != nil:
		w.Because = fmt.Sprintf("built with CUDA %s; every driver from the floor of CUDA %d.x on runs it (minor-version compatibility)", cuda, v.Major())
		w.Checked = t.DayOf("minor_compat", source)
	case least.Known():
		w.Because = fmt.Sprintf("built with CUDA %s, whose family has no minor-version compatibility: it needs the toolkit's own driver", cuda)
		w.Checked = t.DayOf("cuda", source)
	}
}
