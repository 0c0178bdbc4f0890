//go:build packed

// Package docs holds the pages that the program shows.
package docs

import (
	"archive/zip"
	_ "embed"
	"io/fs"
	"strings"
	"sync"
)

// pages are the same pages as make build packs them, a third of their size.
//
//go:embed pages.zip
var pages string

// Rules holds one page a rule, rules/<id>.md. Few runs need one: its directory is read when the first does.
var Rules = sync.OnceValue(func() fs.FS {
	files, err := zip.NewReader(strings.NewReader(pages), int64(len(pages)))
	if err != nil {
		panic("docs/pages.zip: " + err.Error()) // go run ./tools/release pages made it
	}
	return files
})
