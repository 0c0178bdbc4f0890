// Package examples holds the reports and facts that the program carries, so that it can be tried on any machine.
package examples

import "embed"

// FS holds what `check example:NAME` reads; NAME is a file's without its directory and extension.
//
//go:embed collect_env/*.txt facts/*.json
var FS embed.FS
