// Package source defines what a reader of facts returns. Packages driver, kernel, gpu, container, process, toolkit, efa
// and system each have one exported reader for each of their sources; package probe lists and runs them.
package source

import "cudacompat/probe/facts"

// Update writes what a reader found into facts. A reader returns it instead of writing directly, so that a reader which
// never comes back leaves no half-written facts.
type Update func(*facts.Facts)

// Skipped is the error of a reader that had a reason not to look. Nothing that it would have found is then missing.
type Skipped string

func (s Skipped) Error() string { return string(s) }
