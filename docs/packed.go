//go:build packed

// Package docs holds the pages that the program shows.
package docs

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// pages are the same pages as make build packs them: an archive that is compressed as a whole, for they say much alike,
// a fifth of their size.
//
//go:embed pages.zip.zst
var pages []byte

// Rules holds one page a rule, rules/<id>.md. Few runs need one: its directory is read when the first does.
var Rules = sync.OnceValue(func() fs.FS {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) // of its options alone
	}
	defer reader.Close()
	archive, err := reader.DecodeAll(pages, nil)
	if err != nil {
		panic("docs/pages.zip.zst: " + err.Error()) // go run ./tools/release pages made it
	}
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic("docs/pages.zip.zst: " + err.Error())
	}
	return files
})
