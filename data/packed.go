//go:build packed

package data

import (
	"archive/zip"
	_ "embed"
	"io/fs"
	"strings"
)

// bundle is the same tables as make build packs them: a megabyte less, with a manifest that spares reading all of them
// for a date. A test compares it with the files.
//
//go:embed tables.zip
var bundle string

// FS holds the tables.
var FS fs.FS = opened()

func opened() fs.FS {
	files, err := zip.NewReader(strings.NewReader(bundle), int64(len(bundle)))
	if err != nil {
		panic("data/tables.zip: " + err.Error()) // go run ./tools/release bundle made it
	}
	return files
}
