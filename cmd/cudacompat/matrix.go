package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/output"
	"cudacompat/internal/report/catalog"
	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/usage"
	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	tablesFlag
	formats []string
	colour  string
	all     bool
}

func matrixCommand(s streams) *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:         "matrix [TABLE [FILTER...] | why TABLE KEY... COLUMN]",
		Short:       "Show the compatibility tables, with their sources",
		Long:        "Lists the tables, or the rows of one. A FILTER is COLUMN=VALUE, a range of versions or dates such as 'release>=2.6,<2.9', or just a row's KEY (its version or name). `why` shows one value of a row, with its source.",
		Annotations: map[string]string{exitNote: exitPlain},
		Example:     "  cudacompat matrix torch cuda=12.6 python=3.12\n  cudacompat matrix why torch 2.6.0+cu124 driver",
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			t, err := f.load(ctx)
			switch {
			case err != nil:
				return err
			case len(args) == 0:
				return f.list(ctx, s, t)
			case args[0] == "why":
				return f.showOrigin(ctx, s, t, args[1:])
			}
			return f.rows(ctx, s, t, args[0], args[1:])
		},
	}
	f.tablesFlag.add(cmd)
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil,
		outputUsage(output.ListNames(catalog.GridFormats)))
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVar(&f.all, "all", false, "show every column, however wide")
	return cmd
}

// list shows the list of tables.
func (f *matrixFlags) list(ctx context.Context, s streams, t *matrix.Tables) error {
	g := sheet.Grid{Table: "tables", Keys: 1, Columns: []string{"table", "rows", "artefact", "two_sources",
		"single_source", "checked", "columns"}}
	for _, name := range tables.Names() {
		table, err := t.Grid(name)
		if err != nil {
			return err
		}
		row := append([]string{name, strconv.Itoa(len(table.Rows))}, proofs(table)...)
		g.Rows = append(g.Rows, append(row, table.Date(), strings.Join(table.Columns, " ")))
	}
	return output.ParseAndWrite(ctx, s.out, s.err, catalog.GridFormats, f.formats, f.colour, f.all, g)
}

// proofs says how many of a table's rows were read from the artefact, have two sources or have one. It returns nothing
// if the table does not say.
func proofs(table sheet.Grid) []string {
	count, told := tables.CountProofs(table)
	cells := make([]string, len(tables.Proofs))
	for i, p := range tables.Proofs {
		if told {
			cells[i] = strconv.Itoa(count[p])
		}
	}
	return cells
}

// rows shows the rows of a table that pass every filter.
func (f *matrixFlags) rows(ctx context.Context, s streams, t *matrix.Tables, table string, words []string) error {
	g, err := filterGrid(t, table, words)
	if err != nil {
		return err
	}
	return output.ParseAndWrite(ctx, s.out, s.err, catalog.GridFormats, f.formats, f.colour, f.all, g)
}

func filterGrid(t *matrix.Tables, table string, words []string) (sheet.Grid, error) {
	if !slices.Contains(tables.Names(), table) {
		return sheet.Grid{}, usage.RejectUnknown("table", table, tables.Names())
	}
	g, err := t.Grid(table)
	if err != nil {
		return g, err
	}
	all := g
	for _, word := range words {
		filter := sheet.ParseFilter(word)
		if table == "product" && filter.Column == "name" && filter.Op == "=" {
			if filter.Value, err = productName(t, filter.Value); err != nil {
				return g, err
			}
		}
		if filter.Column != "" && g.Column(filter.Column) < 0 {
			return g, usage.RejectUnknown("column in "+table, filter.Column, g.Columns)
		}
		kept, err := g.Where(filter)
		if err != nil {
			return g, &usage.Error{Message: err.Error(), Hint: "cudacompat matrix " + table + " shows the rows"}
		}
		if known, _ := all.Where(filter); filter.Column == "" && len(known.Rows) == 0 {
			return g, usage.RejectUnknownOfMany("key in "+table, word, keysOf(g), "cudacompat matrix "+table)
		}
		g = kept
	}
	return g, nil
}

// productName returns a product's name as in the table product, for any way of writing it.
func productName(t *matrix.Tables, name string) (string, error) {
	if rows := t.Products("", name); len(rows) > 0 {
		return rows[0].Name, nil
	}
	if chip := t.ChipNamed(name); chip != nil {
		return "", &usage.Error{Message: "the table product has no row of " + name + ": no first driver of it is published, and its branches are those of its chip",
			Hint: "cudacompat matrix gpu " + chip.Chip}
	}
	return name, nil
}

// keysOf returns every word that identifies rows of a table.
func keysOf(g sheet.Grid) []string {
	var words []string
	for _, row := range g.Rows {
		words = append(words, row[:g.Keys]...)
		if g.Keys > 1 {
			words = append(words, row[0]+"+"+row[1])
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// showOrigin shows one value of the rows that the words identify, with its sources.
func (f *matrixFlags) showOrigin(ctx context.Context, s streams, t *matrix.Tables, args []string) error {
	if len(args) < 3 {
		return &usage.Error{Message: "matrix why takes a table, a key and a column",
			Hint: "cudacompat matrix why torch 2.6.0+cu124 driver"}
	}
	table, words, column := args[0], args[1:len(args)-1], args[len(args)-1]
	g, err := filterGrid(t, table, words)
	if err != nil {
		return err
	}
	if !slices.Contains(g.WhyColumns(), column) {
		return usage.RejectUnknown("column in "+table, column, g.WhyColumns())
	}
	if len(g.Rows) == 0 {
		return &usage.Error{Message: fmt.Sprintf("no row of %s fits %s", table, strings.Join(words, " ")),
			Hint: "cudacompat matrix " + table + " shows the rows"}
	}
	return output.ParseAndWrite(ctx, s.out, s.err, catalog.WhyFormats, f.formats, f.colour, f.all, matrix.Whys(t, g, column))
}
