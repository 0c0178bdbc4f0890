package tables

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
)

// sheet is one table: what it is called, how many leading columns make its key, how it is written, and the type of
// its rows.
type sheet struct {
	name string
	keys int
	form form
	row  reflect.Type
	read func(s sheet, from layers, check cellCheck) (any, error) // a table of its rows
}

// sheetOf returns a table whose rows fill T.
func sheetOf[T any](name string, keys int, form form) sheet {
	return sheet{name, keys, form, reflect.TypeFor[T](), readTable[T]}
}

// form is how a table is written.
type form struct {
	file   string // where: the table's name stands for "*"
	sorted bool   // by the keys
	each   func(fsys fs.FS, s sheet, columns []column, visit func(record) error) error
}

// csvFile is one file of comma-separated values, sorted by its key.
var csvFile = form{"*.csv", true, eachLine}

// file returns where the table is.
func (s sheet) file() string { return strings.Replace(s.form.file, "*", s.name, 1) }

// sheets is every table, in the order in which they are listed for people. A new one is an entry here and the type of
// its rows.
var sheets = []sheet{
	sheetOf[CUDA]("cuda", 1, csvFile),
	sheetOf[Branch]("driver_branch", 1, csvFile),
	sheetOf[Chip]("gpu", 1, csvFile),
	sheetOf[Product]("product", 1, csvFile),
	sheetOf[Minor]("minor_compat", 1, csvFile),
	sheetOf[Forward]("forward_compat", 1, csvFile),
	sheetOf[Torch]("torch", 3, csvFile),
	sheetOf[Default]("pypi_default", 2, csvFile),
	sheetOf[TensorFlow]("tensorflow", 3, csvFile),
	sheetOf[JAX]("jax", 3, csvFile),
	sheetOf[NCCL]("nccl", 2, csvFile),
	sheetOf[CuDNN]("cudnn", 2, csvFile),
	sheetOf[Triton]("triton", 1, csvFile),
	sheetOf[HostCompiler]("host_compiler", 1, csvFile),
	sheetOf[Instance]("ec2", 1, csvFile),
	sheetOf[Alias]("instance_alias", 1, csvFile),
	sheetOf[MachineImage]("sagemaker", 1, csvFile),
	sheetOf[Container]("container", 2, csvFile),
	sheetOf[Xid]("xid", 1, csvFile),
	sheetOf[Library]("library", 1, csvFile),
	sheetOf[Status]("status", 1, csvFile),
	sheetOf[Cause]("cause", 1, csvFile),
	sheetOf[Signature]("signature", 1, stanzas),
	sheetOf[Extension]("extension", 4, csvFile),
	sheetOf[Package]("package", 1, csvFile),
	sheetOf[Trait]("trait", 2, csvFile),
	sheetOf[Advisory]("advisory", 1, csvFile),
	sheetOf[Hand]("hand", 3, csvFile),
}

// sheetFor returns the table whose rows are of a type.
func sheetFor(row reflect.Type) sheet {
	return sheets[slices.IndexFunc(sheets, func(s sheet) bool { return s.row == row })]
}

func sheetNamed(name string) (sheet, bool) {
	i := slices.IndexFunc(sheets, func(s sheet) bool { return s.name == name })
	if i < 0 {
		return sheet{}, false
	}
	return sheets[i], true
}

// Names returns the names of the tables, in the order in which they are listed for people.
func Names() []string {
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
	places  []func(column int) place
	lock    func() Lock
}

// Grid reads and lints one table.
func (t *Tables) Grid(table string) (Grid, error) {
	s, ok := sheetNamed(table)
	if !ok {
		return Grid{}, fmt.Errorf("there is no table %q", table)
	}
	if _, err := s.read(s, t.from, checkCell); err != nil {
		return Grid{}, err
	}
	g, err := s.grid(t.from)
	g.lock = t.lock
	return g, err
}

func (s sheet) grid(from layers) (Grid, error) {
	columns := columnsOf(s.row)
	g := Grid{Table: s.name, Keys: s.keys}
	for _, c := range columns {
		g.Columns, g.kinds = append(g.Columns, c.name), append(g.kinds, c.kind)
	}
	err := from.each(s, columns, func(r record) error {
		kept := r.copied()
		g.Rows, g.places = append(g.Rows, kept.cells), append(g.places, kept.place)
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

// list splits a cell whose column is a list.
func (g Grid) list(column int, cell string) (items []string, isList bool) {
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
	if day := g.Cell(row, "checked"); day != "" || g.lock == nil {
		return day
	}
	return g.lock().dayOf(g.Table, SourcesOf(g.Cell(row, "source")))
}

// Date returns how old the rows of the grid are: as the oldest of the sources that can change.
func (g Grid) Date() string {
	if g.lock == nil {
		return ""
	}
	return g.lock().dateOf(g)
}

// WhyColumns returns the columns that Why can be asked for in a table: its own, and those that are worked out from
// them.
func (g Grid) WhyColumns() []string {
	if g.Column("cuda") >= 0 && g.Column("sass") >= 0 && g.Column("driver") < 0 {
		return append(slices.Clone(g.Columns), "driver")
	}
	return g.Columns
}
