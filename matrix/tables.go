package matrix

import (
	"io/fs"

	"cudacompat/internal/tables"
)

// Tables holds the published facts by which machines are judged: which versions work together, with a source in every
// row.
type Tables = tables.Tables

// TableSource describes one table that a report used: its name, date and hash, and whether it contains rows of a site's
// own.
type TableSource = tables.Source

// Digest returns one SHA-256, in hexadecimal, over all tables that judge. Two programs with the same digest know the
// same.
func Digest(sources []TableSource) string { return tables.Digest(sources) }

// Embedded returns the tables compiled into the program. All callers share them. A row that cannot be read panics;
// tests read them all.
func Embedded() *Tables { return tables.Embedded() }

// Load reads and lints every table in fsys. Its errors say file, line and column. It returns all tables or none.
func Load(fsys fs.FS) (*Tables, error) { return tables.Load(fsys) }

// LoadOver returns the embedded tables with the rows of over laid on them, and lints the result. It fails for a
// directory without a table and for a CSV file with an unknown name, because a misspelt name would change nothing.
func LoadOver(over fs.FS) (*Tables, error) { return tables.LoadOver(over) }

// LoadBundle returns the embedded tables with those of a bundle in their place. If the bundle is older than the
// embedded tables, it returns those alone, and false.
func LoadBundle(files fs.FS, date string) (*Tables, bool, error) {
	return tables.LoadBundle(files, date)
}
