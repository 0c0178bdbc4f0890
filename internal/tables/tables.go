// Package tables reads what is known: the tables of package data, or a site's own. It lints them, filters them for
// people, says what each row rests on, and looks rows up for package matrix.
package tables

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"cudacompat/data"
)

// Tables is the knowledge: what goes with what, a source in every row. Each table is read when it is first asked
// for. It is safe for several goroutines.
type Tables struct {
	from           layers
	rows           map[reflect.Type]func() (any, error) // by the type of a row: a slice of them
	kept           sync.Map                             // what RowsOf has read: of tables, and of their keys
	asked          atomic.Int32                         // how often RowsOf was asked
	spelt          sync.Map                             // by a GPU's name, how it may be spelt
	chipsByName    func() map[string]*Chip
	chipsByID      func() map[string]*Chip
	productsByName func() map[string][]*Product
}

// Rows are the rows of the table whose rows are of type T. Load or the build's tests have linted them: an error here
// is a bug.
func Rows[T any](t *Tables) []T { return t.all(reflect.TypeFor[T]()).([]T) }

func (t *Tables) all(row reflect.Type) any {
	rows, err := t.rows[row]()
	if err != nil {
		panic(fmt.Sprintf("embedded table: %v", err))
	}
	return rows
}

// RowsOf are the rows of a table in CSV whose first cell is a key. Of the embedded tables the others are not read: of
// what most judgements read of a large one, those are nearly all. Nobody writes to them.
func RowsOf[T any](t *Tables, key string) []T {
	return t.some(sheetFor(reflect.TypeFor[T]()), key).([]T)
}

func (t *Tables) some(s sheet, key string) any {
	if t.from.over != nil || t.from.under != data.FS { // a site's own may quote its keys
		return s.withKey(t.all(s.row), key)
	}
	if key == "" || strings.ContainsAny(key, ",\"\r\n") {
		key = "\x00" // which no table has
	}
	text := func() []byte {
		return t.keep(s.name, func() (any, error) { return fs.ReadFile(data.FS, s.file()) }).([]byte)
	}
	// A file may name ten thousands of packages, of which the tables know few: of the others nothing is kept.
	if t.asked.Add(1) > 100 &&
		!t.keep(s.name+" keys", func() (any, error) { return firstCells(text()), nil }).(map[string]bool)[key] {
		key = "\x00"
	}
	return t.keep(s.name+" "+key, func() (any, error) {
		s.text = linesOf(text(), key)
		return s.read(t.from, linted)
	})
}

// keep is what was read under a name, which is read when it is first asked for.
func (t *Tables) keep(name string, read func() (any, error)) any {
	kept, _ := t.kept.LoadOrStore(name, sync.OnceValues(read))
	value, err := kept.(func() (any, error))()
	if err != nil {
		panic(fmt.Sprintf("embedded table: %v", err))
	}
	return value
}

// Embedded is the tables compiled into the program, the same ones for every caller: what was read once stays read.
func Embedded() *Tables { return embedded() }

var embedded = sync.OnceValue(func() *Tables { return Open(data.FS) })

// Load reads and lints every table in fsys, and that rows name only things which exist. An error says file, line and
// column; nothing half-loaded is returned.
func Load(fsys fs.FS) (*Tables, error) { return load(layers{under: fsys}) }

func load(from layers) (*Tables, error) {
	t := open(from)
	for _, s := range sheets {
		if _, err := s.read(from, checkCell); err != nil {
			return nil, err
		}
	}
	if err := t.references(); err != nil {
		return nil, err
	}
	if err := t.instances(); err != nil {
		return nil, err
	}
	if err := t.proofs(); err != nil {
		return nil, err
	}
	return t, nil
}

// Read reads and lints the one table in fsys whose rows are of type T.
func Read[T any](fsys fs.FS) ([]T, error) {
	rows, err := sheetFor(reflect.TypeFor[T]()).read(layers{under: fsys}, checkCell)
	if err != nil {
		return nil, err
	}
	return rows.([]T), nil
}

// Open is the tables in fsys as they are: those that were linted before, by Load or by a test.
func Open(fsys fs.FS) *Tables { return open(layers{under: fsys}) }

func open(from layers) *Tables {
	t := &Tables{from: from, rows: map[reflect.Type]func() (any, error){}}
	for _, s := range sheets {
		t.rows[s.row] = sync.OnceValues(func() (any, error) { return s.read(from, linted) })
	}
	t.chipsByName = sync.OnceValue(t.indexNames)
	t.chipsByID = sync.OnceValue(t.indexIDs)
	t.productsByName = sync.OnceValue(t.indexProductNames)
	return t
}
