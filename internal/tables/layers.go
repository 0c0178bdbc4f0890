package tables

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

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
