//go:build !packed

// Package data holds what is known: one table a file (the signatures of logs: one family a file), one release a row, a
// source in every row. Package internal/tables reads it.
package data

import (
	"embed"
	"io/fs"
)

//go:embed *.csv signature/*.txt
var files embed.FS

// FS holds the tables.
var FS fs.FS = files
