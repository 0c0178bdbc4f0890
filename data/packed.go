//go:build packed

package data

import (
	_ "embed"
	"io/fs"

	"cudacompat/internal/bundle"
)

// packed is the same tables as make build packs them: more than a megabyte less, with what spares reading all of them
// for a date. A test compares it with the files.
//
//go:embed tables.zip
var packed []byte

// FS holds the tables.
var FS fs.FS = bundle.Unpack(packed)
