// Package docs holds the pages that the program shows.
package docs

import "embed"

// Rules holds one page a rule, rules/<id>.md.
//
//go:embed rules/*.md
var Rules embed.FS
