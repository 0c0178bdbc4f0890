package tables

import (
	"errors"
	"fmt"
	"slices"

	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
)

// reference is a column whose cells name things that another table must know. An empty cell names nothing.
type reference struct {
	table, column string
	known         func(*Tables, string) bool
	in            string // the table that must know it
}

var references = []reference{
	{"torch", "cuda", knowsCUDA, "cuda"},
	{"tensorflow", "cuda", knowsCUDA, "cuda"},
	{"jax", "cuda", knowsCUDA, "cuda"},
	{"host_compiler", "cuda", knowsCUDA, "cuda"},
	{"container", "cuda", knowsOldCUDA, "cuda"},
	{"forward_compat", "cuda", knowsCUDA, "cuda"},
	{"nccl", "built", knowsCUDA, "cuda"},
	{"extension", "cuda", knowsAnyCUDA, "cuda"},
	{"cuda", "branch", knowsBranch, "driver_branch"},
	{"forward_compat", "branch", knowsBranch, "driver_branch"},
	{"forward_compat", "base_branches", knowsBranch, "driver_branch"},
	{"ec2", "gpu", func(t *Tables, name string) bool { return t.chipsByName()[NormalGPU(name)] != nil }, "gpu"},
	{"instance_alias", "gpu", func(t *Tables, name string) bool { return t.ChipNamed(name) != nil }, "gpu"},
	{"ec2", "capability", knowsCapability, "gpu"},
	{"pypi_default", "variant", knowsVariant, "torch"},
	{"cause", "as", func(t *Tables, rule string) bool { c := t.CauseOf(rule); return c != nil && c.As == "" }, "cause"},
	{"cause", "statuses", func(t *Tables, word string) bool { return t.statusNamed(word) != nil }, "status"},
}

// knowsCUDA compares the release's first two parts; a family alone ("12") is known by any of its releases.
func knowsCUDA(t *Tables, text string) bool {
	v := version.ParseOrZero(text)
	return slices.ContainsFunc(Rows[CUDA](t), func(c CUDA) bool {
		return c.Release.Short() == v.Short() || v.Parts() == 1 && c.Release.Major() == v.Major()
	})
}

// knowsOldCUDA lets images be of CUDA releases before the first of the table.
func knowsOldCUDA(t *Tables, text string) bool {
	rows := Rows[CUDA](t)
	return knowsCUDA(t, text) || len(rows) > 0 && version.ParseOrZero(text).Less(rows[0].Release)
}

// knowsAnyCUDA lets a package be known to need none.
func knowsAnyCUDA(t *Tables, text string) bool { return text == "none" || knowsCUDA(t, text) }

func knowsBranch(t *Tables, text string) bool {
	return text == "none" || slices.ContainsFunc(Rows[Branch](t), func(b Branch) bool { return b.Branch == text })
}

func knowsCapability(t *Tables, text string) bool {
	c, err := version.ParseCapability(text)
	return err == nil && t.ChipOf(c) != nil
}

func knowsVariant(t *Tables, text string) bool {
	return text == "cpu" || slices.ContainsFunc(Rows[Torch](t), func(w Torch) bool { return w.Variant == text })
}

// references checks that rows name only things that other tables know. Every table has been linted before.
func (t *Tables) references() error {
	grids := map[string]sheet.Grid{}
	for _, r := range references {
		g, ok := grids[r.table]
		if !ok {
			s, _ := sheetNamed(r.table)
			var err error
			if g, err = s.ReadGrid(t.from); err != nil {
				return err
			}
			grids[r.table] = g
		}
		if err := r.check(t, g); err != nil {
			return err
		}
	}
	return nil
}

func (r reference) check(t *Tables, g sheet.Grid) error {
	column := g.Column(r.column)
	if column < 0 {
		return fmt.Errorf("%s.csv has no column %q to refer from", r.table, r.column)
	}
	known := map[string]bool{} // few names stand in many rows
	for i, row := range g.Rows {
		items, isList := g.SplitCell(column, row[column])
		if !isList && row[column] != "" {
			items = []string{row[column]}
		}
		for _, item := range items {
			if !known[item] && !r.known(t, item) {
				return g.Places[i](column).WrapError(errors.New(r.column + ": " + item + " is not in " + r.in + ".csv"))
			}
			known[item] = true
		}
	}
	return nil
}
