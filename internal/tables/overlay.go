package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cudacompat/data"
)

// LoadOver returns the embedded tables with the rows of over laid on them, all of it linted: a row takes the place of
// the one that has its key, or is added. Other files than tables are left alone; a CSV that is no table's is an error,
// since a misspelt one would change nothing, and so is a place without any table.
func LoadOver(over fs.FS) (*Tables, error) {
	entries, err := fs.ReadDir(over, ".")
	if err != nil {
		return nil, err
	}
	found := false
	for _, e := range entries {
		isTable := slices.ContainsFunc(sheets, func(s sheet) bool { return s.file() == e.Name() })
		if !isTable && strings.HasSuffix(e.Name(), ".csv") {
			return nil, fmt.Errorf("%s: there is no such table; they are %s", e.Name(), strings.Join(Names(), ", "))
		}
		found = found || isTable
	}
	if !found {
		return nil, fmt.Errorf("there is no table: neither TABLE.csv (%s) nor a directory signature",
			strings.Join(Names(), ", "))
	}
	return load(layers{over: over, under: data.FS}, false)
}

// LoadBundle returns the embedded tables with those of a bundle in their places, whole: a row that the bundle has no
// more was withdrawn. All of it is linted. What the bundle has beside tables is of a newer program, and left alone. A
// bundle that is older than the embedded tables is worth less than they are: they are returned, and false.
func LoadBundle(files fs.FS, date string) (*Tables, bool, error) {
	if date < Embedded().Checked() {
		return Embedded(), false, nil
	}
	t, err := load(layers{over: files, under: data.FS, whole: true}, false)
	return t, true, err
}

// layers is where tables are read from: a site's own rows, if there are any, and those under them. Of a bundle, whole
// tables stand in the places of those under them.
type layers struct {
	over, under fs.FS
	whole       bool
}

// lock returns that of a bundle where there is one, else of the tables under a site's own, of which nothing says when
// they were read.
func (l layers) lock() (Lock, error) {
	if l.whole {
		if lock, err := ReadLock(l.over); err != nil || len(lock) > 0 {
			return lock, err
		}
	}
	return ReadLock(l.under)
}

// each calls visit for every row of a table, in its order.
func (l layers) each(s sheet, columns []column, visit func(record) error) error {
	own, err := l.siteRows(s, columns)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return s.form.each(l.under, s, columns, visit)
	}
	if l.whole {
		return s.form.each(l.over, s, columns, visit)
	}
	rows, err := collect(l.under, s, columns)
	if err != nil {
		return err
	}
	for _, r := range s.merge(rows, own) {
		if err := visit(r); err != nil {
			return atPlace(r.place, err)
		}
	}
	return nil
}

// siteRows returns the rows that a site has of a table.
func (l layers) siteRows(s sheet, columns []column) ([]record, error) {
	if l.over == nil {
		return nil, nil
	}
	rows, err := collect(l.over, s, columns)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return rows, err
}

func collect(from fs.FS, s sheet, columns []column) ([]record, error) {
	var rows []record
	err := s.form.each(from, s, columns, func(r record) error {
		rows = append(rows, r.copied())
		return nil
	})
	return rows, err
}

// merge puts own rows in the places of those that have their keys, the others where the table's order wants them.
func (s sheet) merge(rows, own []record) []record {
	key := func(r record) string { return strings.Join(r.cells[:s.keys], "\x00") }
	at := map[string]int{}
	for i, r := range rows {
		at[key(r)] = i
	}
	for _, r := range own {
		if i, known := at[key(r)]; known {
			rows[i] = r
		} else {
			rows = append(rows, r)
		}
	}
	if s.form.sorted {
		slices.SortStableFunc(rows, func(a, b record) int { return CompareKeys(a.cells[:s.keys], b.cells[:s.keys]) })
	}
	return rows
}
