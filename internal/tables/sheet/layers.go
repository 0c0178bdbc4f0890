package sheet

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Layers is where tables are read from: a site's own rows, if there are any, and those under them. Of a bundle, whole
// tables stand in the places of those under them.
type Layers struct {
	Over, Under fs.FS
	Whole       bool
}

// ReadLock returns that of a bundle where there is one, else of the tables under a site's own, of which nothing says
// when they were read.
func (l Layers) ReadLock() (Lock, error) {
	if l.Whole {
		if lock, err := ReadLock(l.Over); err != nil || len(lock) > 0 {
			return lock, err
		}
	}
	return ReadLock(l.Under)
}

// each calls visit for every row of a table, in its order.
func (l Layers) each(s Sheet, columns []column, visit func(record) error) error {
	own, err := l.siteRows(s, columns)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return s.Form.each(l.Under, s, columns, visit)
	}
	if l.Whole {
		return s.Form.each(l.Over, s, columns, visit)
	}
	rows, err := collect(l.Under, s, columns)
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
func (l Layers) siteRows(s Sheet, columns []column) ([]record, error) {
	if l.Over == nil {
		return nil, nil
	}
	rows, err := collect(l.Over, s, columns)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return rows, err
}

func collect(from fs.FS, s Sheet, columns []column) ([]record, error) {
	var rows []record
	err := s.Form.each(from, s, columns, func(r record) error {
		rows = append(rows, r.copied())
		return nil
	})
	return rows, err
}

// merge puts own rows in the places of those that have their keys, the others where the table's order wants them.
func (s Sheet) merge(rows, own []record) []record {
	key := func(r record) string { return strings.Join(r.cells[:s.Keys], "\x00") }
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
	if s.Form.Sorted {
		slices.SortStableFunc(rows, func(a, b record) int { return CompareKeys(a.cells[:s.Keys], b.cells[:s.Keys]) })
	}
	return rows
}
