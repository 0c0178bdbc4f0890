package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cudacompat/data"
)

// LoadOver is the embedded tables with those of over in their place, all of them linted. Other files than CSVs are
// left alone; a CSV that is no table's is an error, since a misspelt one would change nothing.
func LoadOver(over fs.FS) (*Tables, error) {
	entries, err := fs.ReadDir(over, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		isTable := strings.HasSuffix(e.Name(), ".csv")
		if isTable && !slices.ContainsFunc(sheets, func(s sheet) bool { return s.file() == e.Name() }) {
			return nil, fmt.Errorf("%s: there is no such table; they are %s", e.Name(), strings.Join(Names(), ", "))
		}
	}
	return Load(overlay{over, data.FS})
}

// overlay opens what is in over, else what is in under.
type overlay struct{ over, under fs.FS }

// Open is of fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.under.Open(name)
	}
	return f, err
}
