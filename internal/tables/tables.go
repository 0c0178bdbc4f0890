// Package tables reads what is known: the tables of package data, or a site's own. It lints them, filters them for
// people, says what each row rests on, and looks rows up for package matrix.
package tables

import (
	"fmt"
	"io/fs"
	"reflect"
	"sync"
	"sync/atomic"

	"cudacompat/data"
	"cudacompat/internal/tables/sheet"
)

// Tables is the knowledge: what goes with what, a source in every row. Each table is read when it is first asked
// for. It is safe for several goroutines.
type Tables struct {
	from           sheet.Layers
	read           map[reflect.Type]func() (any, error) // by the type of a row T: a table[T]
	lock           func() sheet.Lock
	sources        func() ([]Source, error)
	driversOf      func() string // how old the driver table is
	parts          parts
	spelt          sync.Map // by a GPU's name, how it may be spelt
	requirements   sync.Map // by *Container, what RequirementOf found
	floors         sync.Map // by floorKey, what Floor found
	floorCount     atomic.Int64
	chipsByName    func() map[string]*Chip
	chipsByID      func() map[string]*Chip
	productsByName func() map[string][]*Product
}

// Rows returns the rows of the table whose rows are of type T. Nobody writes to them. Load or the build's tests have
// linted them: an error here is a bug.
func Rows[T any](t *Tables) []T { return tableOf[T](t).Rows }

// RowsOf returns the rows of a table whose first cell is a key. The first keys are read without the rest of the table.
func RowsOf[T any](t *Tables, key string) []T {
	if rows, ok := partOf[T](t, key); ok {
		return rows
	}
	return tableOf[T](t).ByKey()[key]
}

func tableOf[T any](t *Tables) sheet.Table[T] {
	read, err := t.read[reflect.TypeFor[T]()]()
	if err != nil {
		panic(fmt.Sprintf("embedded table: %v", err))
	}
	return read.(sheet.Table[T])
}

// Embedded returns the tables compiled into the program, the same ones for every caller: what was read once stays read.
func Embedded() *Tables { return embedded() }

var embedded = sync.OnceValue(func() *Tables { return Open(data.FS) })

// Load reads and lints every table in fsys, and that rows name only things which exist. An error says file, line and
// column; nothing half-loaded is returned.
func Load(fsys fs.FS) (*Tables, error) { return load(sheet.Layers{Under: fsys}, false) }

// LoadLacking loads tables that are about to be filled: they may lack a row of which hand.csv speaks.
func LoadLacking(fsys fs.FS) (*Tables, error) { return load(sheet.Layers{Under: fsys}, true) }

func load(from sheet.Layers, lacking bool) (*Tables, error) {
	t := open(from)
	for _, s := range sheets {
		if _, err := s.Read(s, from, sheet.CheckCell); err != nil {
			return nil, err
		}
	}
	if _, err := from.ReadLock(); err != nil {
		return nil, err
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
	if from.Over == nil { // a site may know better
		if err := t.checkHand(lacking); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Read reads and lints the one table in fsys whose rows are of type T.
func Read[T any](fsys fs.FS) ([]T, error) {
	read, err := sheet.ReadTable[T](sheetFor(reflect.TypeFor[T]()), sheet.Layers{Under: fsys}, sheet.CheckCell)
	if err != nil {
		return nil, err
	}
	return read.(sheet.Table[T]).Rows, nil
}

// Open returns the tables in fsys as they are: those that were linted before, by Load or by a test.
func Open(fsys fs.FS) *Tables { return open(sheet.Layers{Under: fsys}) }

func open(from sheet.Layers) *Tables {
	t := &Tables{from: from, read: map[reflect.Type]func() (any, error){}}
	for _, s := range sheets {
		t.read[s.Row] = sync.OnceValues(func() (any, error) { return s.Read(s, t.parts.forWhole(s.Row, from), sheet.SkipCheck) })
	}
	t.lock = sync.OnceValue(func() sheet.Lock {
		lock, err := from.ReadLock()
		if err != nil {
			return sheet.Lock{} // Load says it
		}
		return lock
	})
	t.sources = sync.OnceValues(t.readSources)
	t.driversOf = sync.OnceValue(func() string {
		if source, ok := findEmbedded(t.from, sheetFor(reflect.TypeFor[Branch]())); ok {
			return source.Date
		}
		var sources []string
		for _, b := range Rows[Branch](t) {
			sources = append(sources, b.Source...)
		}
		return t.lock().FindDay("driver_branch", sources)
	})
	t.chipsByName = sync.OnceValue(t.indexNames)
	t.chipsByID = sync.OnceValue(t.indexIDs)
	t.productsByName = sync.OnceValue(t.indexProductNames)
	return t
}
