// Package inputtest writes facts as short lines for the tests of package input.
package inputtest

import (
	"strings"

	"cudacompat/probe/facts"
)

// Lines writes the builds of a file, one per line: name, version or specifier, accelerator, CUDA, index, place.
func Lines(f facts.Facts) []string {
	var lines []string
	for _, e := range f.Environments {
		for _, b := range e.Builds {
			lines = append(lines, strings.Join([]string{b.Name, b.Version + b.Specifier, b.Accelerator, b.CUDA, b.Index,
				b.From}, "|"))
		}
	}
	return lines
}
