// Package sheet reads tables as sheets: CSV files, or directories of stanzas, with the rows of a site or a bundle laid
// over them. It fills the rows of a table's type, and checks the header, the keys, their order, and every cell: its
// source, and the words that rules compare.
//
// A Grid is a table as text, which people and programs are shown and which filters narrow. A Lock says when the source
// of a row was last read. Which tables there are, and what their rows mean, is the business of package tables.
package sheet

import (
	"io/fs"
	"reflect"
	"strings"
)

// Sheet is one table: what it is called, how many leading columns make its key, how it is written, and the type of
// its rows.
type Sheet struct {
	Name string
	Keys int
	Form Form
	Row  reflect.Type
	Read func(s Sheet, from Layers, check CellCheck) (any, error) // a table of its rows
}

// New returns a table whose rows fill T.
func New[T any](name string, keys int, form Form) Sheet {
	return Sheet{name, keys, form, reflect.TypeFor[T](), ReadTable[T]}
}

// Form is how a table is written.
type Form struct {
	File   string // where: the table's name stands for "*"
	Sorted bool   // by the keys
	each   func(fsys fs.FS, s Sheet, columns []column, visit func(record) error) error
}

// CSVFile is one file of comma-separated values, sorted by its key.
var CSVFile = Form{"*.csv", true, eachLine}

// FindPath returns where the table is.
func (s Sheet) FindPath() string { return strings.Replace(s.Form.File, "*", s.Name, 1) }
