package model

import (
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// Facts are text. The types below hold the values that rules compare, parsed once.

// Installed is an installed package.
type Installed struct {
	*facts.Package
	Number version.Number   // its release's numbers
	pep440 *version.Release // nil until it is asked for
}

// NewInstalled parses the version numbers of a package that was found.
func NewInstalled(p *facts.Package) *Installed {
	return &Installed{Package: p, Number: version.ParseOrZero(p.Version)}
}

// Release returns its version by PEP 440, or the zero Release if it is none.
func (p *Installed) Release() version.Release {
	if p.pep440 == nil {
		r, _ := version.ParseRelease(p.Version)
		p.pep440 = &r
	}
	return *p.pep440
}

// Family returns the CUDA major version in the package's name, such as 12 for nvidia-nccl-cu12. It is unknown if the
// name has none.
func (p *Installed) Family() version.Number {
	if m := FamilySuffix.FindStringSubmatch(p.Name); m != nil {
		return version.ParseOrZero(m[1])
	}
	return version.Number{}
}

// Taken is a library that the loader takes.
type Taken struct {
	*facts.Taken
	Number, CUDANumber version.Number // its own, and the CUDA that it is for
}

func takenBy(b *facts.Build) []Taken {
	list := make([]Taken, len(b.Taken))
	for i := range b.Taken {
		t := &b.Taken[i]
		list[i] = Taken{t, version.ParseOrZero(t.Version), version.ParseOrZero(t.CUDA)}
	}
	return list
}

// isaOf parses PTX versions by their target.
func isaOf(text map[string]string) map[string]version.Number {
	isa := make(map[string]version.Number, len(text))
	for target, v := range text {
		isa[target] = version.ParseOrZero(v)
	}
	return isa
}

// Exactly returns the release that a row's text names: 2.9.0 for "2.9.0" and for "==2.9.0". It is unknown for a range.
func Exactly(text string) version.Number { return version.ParseOrZero(strings.TrimPrefix(text, "==")) }
