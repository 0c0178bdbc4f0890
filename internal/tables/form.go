package tables

import (
	"io/fs"
	"reflect"
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
