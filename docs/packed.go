//go:build packed

// Package docs holds the pages that the program shows.
package docs

import (
	_ "embed"
	"io/fs"
	"sync"

	"cudacompat/internal/bundle"
)

// pages are the same pages as make build packs them, a fifth of their size.
//
//go:embed pages.zip
var pages []byte

// Rules holds one page a rule, rules/<id>.md.
var Rules = sync.OnceValue(func() fs.FS { return bundle.Unpack(pages) })
