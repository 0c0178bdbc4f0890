// Package frozen has the tables as they were on one day, for tests. What a test expects must not change because a
// driver or a framework has a new release: only the linter, and the guards on a change, look at the tables of today.
// `make freeze` takes today's tables in; read what then differs.
package frozen

import (
	_ "embed"
	"io/fs"

	"cudacompat/data"
	"cudacompat/internal/bundle"
)

//go:embed tables.zip
var packed []byte

// Use makes the frozen tables those that the program carries, and returns the real ones. A test's package does it
// before anything reads a table:
//
//	var _ = frozen.Use()
func Use() (today fs.FS) {
	today = data.FS
	tables, _, err := bundle.Read(packed)
	if err != nil {
		panic("internal/tables/frozen/tables.zip: " + err.Error())
	}
	data.FS, data.Dates = tables, ""
	return today
}
