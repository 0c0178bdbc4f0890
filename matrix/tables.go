package matrix

import (
	"io/fs"

	"cudacompat/internal/tables"
)

// Tables is the knowledge that machines are judged by: what goes with what, a source in every row.
type Tables = tables.Tables

// TableSource is one table by which a report was made: its name, date and hash, and whether rows of a site's own stand
// in it.
type TableSource = tables.Source

// Digest is one SHA-256, in hexadecimal, of all tables that judge: two programs with the same one know the same.
func Digest(sources []TableSource) string { return tables.Digest(sources) }

// Embedded is the tables compiled into the program, the same ones for every caller. A row that cannot be read panics;
// tests read them all.
func Embedded() *Tables { return tables.Embedded() }

// Load reads and lints every table in fsys. An error says file, line and column; nothing half-loaded is returned.
func Load(fsys fs.FS) (*Tables, error) { return tables.Load(fsys) }

// LoadOver is the embedded tables with the rows of over laid on them, all of it linted. A directory without a table and
// a CSV file that is no table's are errors: a misspelt name would change nothing.
func LoadOver(over fs.FS) (*Tables, error) { return tables.LoadOver(over) }

// LoadBundle is the embedded tables with those of a bundle in their places, or, where the bundle's date is before theirs,
// the embedded ones alone, and false.
func LoadBundle(files fs.FS, date string) (*Tables, bool, error) {
	return tables.LoadBundle(files, date)
}
