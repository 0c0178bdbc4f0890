package matrix

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
)

// sheet is one table: its file, how many leading columns make the key, and the rows that its lines fill.
type sheet struct {
	name    string
	keys    int
	columns func() []column
	lint    func(fsys fs.FS, file string, keys int) error
}

func sheetOf[T any](name string, keys int) sheet {
	return sheet{name, keys, func() []column { return columnsOf(reflect.TypeFor[T]()) },
		func(fsys fs.FS, file string, keys int) error {
			_, err := readTable[T](fsys, file, keys, checkCell)
			return err
		}}
}

func (s sheet) file() string { return s.name + ".csv" }

// sheets is every table, in the order in which they are listed for people.
var sheets = []sheet{
	sheetOf[CUDA]("cuda", 1),
	sheetOf[Branch]("driver_branch", 1),
	sheetOf[Chip]("gpu", 1),
	sheetOf[Minor]("minor_compat", 1),
	sheetOf[Forward]("forward_compat", 1),
	sheetOf[Wheel]("torch", 3),
	sheetOf[Default]("pypi_default", 2),
	sheetOf[TensorFlow]("tensorflow", 3),
	sheetOf[JAX]("jax", 3),
	sheetOf[NCCL]("nccl", 2),
	sheetOf[CuDNN]("cudnn", 2),
	sheetOf[HostCompiler]("host_compiler", 1),
	sheetOf[Instance]("ec2", 1),
	sheetOf[Container]("container", 2),
	sheetOf[Xid]("xid", 1),
	sheetOf[Extension]("extension", 3),
	sheetOf[Advisory]("advisory", 1),
}

func sheetNamed(name string) (sheet, bool) {
	i := slices.IndexFunc(sheets, func(s sheet) bool { return s.name == name })
	if i < 0 {
		return sheet{}, false
	}
	return sheets[i], true
}

// TableNames are the names of the tables, in the order in which they are listed for people.
func TableNames() []string {
	var list []string
	for _, s := range sheets {
		list = append(list, s.name)
	}
	return list
}

// Grid is a table, or some rows of one, as text: what people and programs are shown.
type Grid struct {
	Table   string
	Columns []string
	Keys    int // how many leading columns make the key
	Rows    [][]string
	kinds   []reflect.Type
	places  [][]place
}

// Grid reads and lints one table.
func (t *Tables) Grid(table string) (Grid, error) {
	s, ok := sheetNamed(table)
	if !ok {
		return Grid{}, fmt.Errorf("there is no table %q", table)
	}
	if err := s.lint(t.fsys, s.file(), s.keys); err != nil {
		return Grid{}, err
	}
	return s.grid(t.fsys)
}

func (s sheet) grid(fsys fs.FS) (Grid, error) {
	columns := s.columns()
	g := Grid{Table: s.name, Keys: s.keys}
	for _, c := range columns {
		g.Columns, g.kinds = append(g.Columns, c.name), append(g.kinds, c.kind)
	}
	err := eachRecord(fsys, s.file(), columns, s.keys, func(r record) error {
		places := make([]place, len(r.cells))
		for i := range places {
			places[i] = r.place(i)
		}
		g.Rows, g.places = append(g.Rows, slices.Clone(r.cells)), append(g.places, places)
		return nil
	})
	return g, err
}

// Column is the index of a column, -1 when the table does not have it.
func (g Grid) Column(name string) int { return slices.Index(g.Columns, name) }

// Cell is the text in a row's column; empty where the table does not have the column.
func (g Grid) Cell(row int, column string) string {
	if i := g.Column(column); i >= 0 {
		return g.Rows[row][i]
	}
	return ""
}

// List takes a cell apart where its column is a list.
func (g Grid) list(column int, cell string) (items []string, isList bool) {
	switch g.kinds[column] {
	case reflect.TypeFor[[]string](), reflect.TypeFor[names](), reflect.TypeFor[sources]():
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

// Date is the newest date on which a row of the grid was checked.
func (g Grid) Date() string {
	newest := ""
	for i := range g.Rows {
		newest = max(newest, g.Cell(i, "checked"))
	}
	return newest
}
