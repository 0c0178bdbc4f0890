// Package examples contains the embedded reports and facts, so that the program can be tried on any machine.
package examples

import "embed"

// FS contains the inputs of `check example:NAME`. NAME is a file's name without directory and extension.
//
//go:embed collect_env/*.txt facts/*.json
var FS embed.FS
