// Package data holds what is known: one table a file (the signatures of logs: one family a file), one release a row, a
// source in every row; lock.json says when each source was read. Package internal/tables reads it.
package data

import (
	"embed"
	"io/fs"
)

//go:embed *.csv signature/*.txt lock.json
var files embed.FS

// FS holds the tables. Tests put those of one day in their place (package frozen).
var FS fs.FS = files

// Diagnoses holds what causes mean: a stanza a cause, with its answers, candidates and refusals. Package
// internal/logs/diagnosis reads it.
//
//go:embed diagnosis/*.txt
var Diagnoses embed.FS

// Dates says of each table its name, the day on which the oldest of its sources was last read, and the SHA-256 of its
// files, so that a run need not read two megabytes to say by which tables it judged.
//
//go:generate go test -run TestDates -update
//go:embed dates.txt
var Dates string
