// Package data contains the tables: one table per file (the signatures of logs: one family per file), one release per
// row, a source in every row. lock.json says when each source was read. Package internal/tables reads them.
package data

import (
	"embed"
	"io/fs"
)

//go:embed *.csv signature/*.txt lock.json
var files embed.FS

// FS contains the tables. Tests replace them by those of one day (package frozen).
var FS fs.FS = files

// Diagnoses contains the meanings of causes: one stanza per cause, with its answers, candidates and refusals. Package
// internal/logs/diagnosis parses it.
//
//go:embed diagnosis/*.txt
var Diagnoses embed.FS

// Dates gives for each table its name, the day on which the oldest of its sources was last read, and the SHA-256 of its
// files. A run can then say which tables it used without reading two megabytes.
//
//go:generate go test -run TestDates -update
//go:embed dates.txt
var Dates string
