// Package docs holds the pages that the program shows.
package docs

import "embed"

// Rules holds one page a rule, rules/<id>.md.
//
//go:embed rules/[a-z]*.md
var Rules embed.FS
