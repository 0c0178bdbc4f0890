// Package data holds what is known: one table a file, one release a row, a source in every row. Package
// internal/tables reads it.
package data

import "embed"

// FS holds the tables.
//
//go:embed *.csv
var FS embed.FS
