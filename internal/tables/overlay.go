package tables

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cudacompat/data"
	"cudacompat/internal/tables/sheet"
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
		isTable := slices.ContainsFunc(sheets, func(s sheet.Sheet) bool { return s.FindPath() == e.Name() })
		if !isTable && strings.HasSuffix(e.Name(), ".csv") {
			return nil, fmt.Errorf("%s: there is no such table; they are %s", e.Name(), strings.Join(Names(), ", "))
		}
		found = found || isTable
	}
	if !found {
		return nil, fmt.Errorf("there is no table: neither TABLE.csv (%s) nor a directory signature",
			strings.Join(Names(), ", "))
	}
	return load(sheet.Layers{Over: over, Under: data.FS}, false)
}

// LoadBundle returns the embedded tables with those of a bundle in their places, whole: a row that the bundle has no
// more was withdrawn. All of it is linted. What the bundle has beside tables is of a newer program, and left alone. A
// bundle that is older than the embedded tables is worth less than they are: they are returned, and false.
func LoadBundle(files fs.FS, date string) (*Tables, bool, error) {
	if date < Embedded().Checked() {
		return Embedded(), false, nil
	}
	t, err := load(sheet.Layers{Over: files, Under: data.FS, Whole: true}, false)
	return t, true, err
}
