package sheet

import (
	"reflect"
	"slices"
)

// Grid is a table, or some rows of one, as text: what people and programs are shown.
type Grid struct {
	Table   string
	Columns []string
	Keys    int // how many leading columns make the key
	Rows    [][]string
	kinds   []reflect.Type
	Places  []func(column int) Place
	Lock    func() Lock
}

// ReadGrid reads a table as text. It checks the header and the keys, but no cell.
func (s Sheet) ReadGrid(from Layers) (Grid, error) {
	columns := columnsOf(s.Row)
	g := Grid{Table: s.Name, Keys: s.Keys}
	for _, c := range columns {
		g.Columns, g.kinds = append(g.Columns, c.name), append(g.kinds, c.kind)
	}
	err := from.each(s, columns, func(r record) error {
		kept := r.copied()
		g.Rows, g.Places = append(g.Rows, kept.cells), append(g.Places, kept.place)
		return nil
	})
	return g, err
}

// Column returns the index of a column, -1 when the table does not have it.
func (g Grid) Column(name string) int { return slices.Index(g.Columns, name) }

// Cell returns the text in a row's column; empty where the table does not have the column.
func (g Grid) Cell(row int, column string) string {
	if i := g.Column(column); i >= 0 {
		return g.Rows[row][i]
	}
	return ""
}

// SplitCell splits a cell whose column is a list.
func (g Grid) SplitCell(column int, cell string) (items []string, isList bool) {
	switch g.kinds[column] {
	case reflect.TypeFor[[]string](), reflect.TypeFor[NameList](), reflect.TypeFor[Sources]():
		v := reflect.New(g.kinds[column])
		if err := setCell(v.Elem(), cell); err != nil {
			return nil, true
		}
		for i := range v.Elem().Len() {
			items = append(items, v.Elem().Index(i).String())
		}
		return items, true
	}
	return nil, false
}

// Day returns how old what a row says is: as old as the oldest of its sources.
func (g Grid) Day(row int) string {
	if day := g.Cell(row, "checked"); day != "" || g.Lock == nil {
		return day
	}
	return g.Lock().FindDay(g.Table, SourcesOf(g.Cell(row, "source")))
}

// Date returns how old the rows of the grid are: as the oldest of the sources that can change.
func (g Grid) Date() string {
	if g.Lock == nil {
		return ""
	}
	return g.Lock().FindDate(g)
}

// WhyColumns returns the columns that Why can be asked for in a table: its own, and those that are worked out from
// them.
func (g Grid) WhyColumns() []string {
	if g.Column("cuda") >= 0 && g.Column("sass") >= 0 && g.Column("driver") < 0 {
		return append(slices.Clone(g.Columns), "driver")
	}
	return g.Columns
}
