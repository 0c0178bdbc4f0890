package matrix

import (
	"slices"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/matrix/internal/rules"
)

// TestWhy holds values with their sources, worked out by hand.
func TestWhy(t *testing.T) {
	for _, c := range []struct{ key, column, value, rule string }{
		{"2.6.0+cu124", "driver", ">= 525.60.13", "driver-too-old"},
		{"2.9.0+cu130", "driver", ">= 580.65.06", "driver-too-old"},
		{"1.12.1+cu102", "driver", ">= 440.33", "driver-too-old"},
		{"2.6.0+cu124", "cuda", "12.4.1", "minor-compat"},
	} {
		known := Embedded()
		g, _ := known.Grid("torch")
		g, err := g.Where(sheet.ParseFilter(c.key), sheet.ParseFilter("linux_x86_64"))
		if err != nil || len(g.Rows) != 1 {
			t.Fatalf("%s: %d rows, %v", c.key, len(g.Rows), err)
		}
		w := Whys(known, g, c.column)[0]
		if w.Value != c.value || !slices.Contains(w.Rules, c.rule) || len(w.Source) == 0 || w.Checked == "" {
			t.Errorf("%s of %s is %+v, want %s, a rule %s, a source and a date", c.column, c.key, w, c.value, c.rule)
		}
	}
}

// TestRulesReadColumns wants a column that a rule says it decides by to be one that `matrix why` can be asked for.
func TestRulesReadColumns(t *testing.T) {
	var columns []string
	for _, name := range tables.Names() {
		g, err := Embedded().Grid(name)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, g.WhyColumns()...)
	}
	for _, rule := range rules.All {
		for _, column := range rule.Reads {
			if !slices.Contains(columns, column) {
				t.Errorf("%s reads the column %q, which no table has", rule.ID, column)
			}
		}
	}
}
