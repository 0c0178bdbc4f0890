// Package data holds what is known: one table a file (the signatures of logs: one family a file), one
// release a row, a source in every row. Package
// internal/tables reads it.
package data

import "embed"

// FS holds the tables.
//
//go:embed *.csv signature/*.txt
var FS embed.FS
