package pydist

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// RangedRequirement matches a requirement of a range of releases without an extra or a marker, in both of setuptools' forms:
//
//	Requires-Dist: librmm-cu12==26.10.*
//	Requires-Dist: librmm-cu12 (>=26.10,<26.12)
var RangedRequirement = lazyregexp.New(`(?m)^Requires-Dist: ([A-Za-z0-9._-]+) *\(?([<>=!~][^;()\r\n]*)\)?\r?$`)

// Accepts reports whether a release is in a range as METADATA writes it; what cannot be told it is.
func Accepts(specifiers, have string) bool {
	for _, one := range strings.Split(specifiers, ",") {
		fits, err := version.Allows(strings.TrimSpace(one), version.Of(have))
		if err == nil && !fits {
			return false
		}
	}
	return true
}
