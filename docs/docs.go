//go:build !packed

// Package docs holds the pages that the program shows.
package docs

import (
	"embed"
	"io/fs"
)

//go:embed rules/[a-z]*.md
var files embed.FS

// Rules holds one page a rule, rules/<id>.md.
func Rules() fs.FS { return files }
