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
	return &Installed{Package: p, Number: version.Of(p.Version)}
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
		return version.Of(m[1])
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
		list[i] = Taken{t, version.Of(t.Version), version.Of(t.CUDA)}
	}
	return list
}

// isaOf parses PTX versions by their target.
func isaOf(text map[string]string) map[string]version.Number {
	isa := make(map[string]version.Number, len(text))
	for target, v := range text {
		isa[target] = version.Of(v)
	}
	return isa
}

// ReleaseIn returns the driver release in a package's version, or false.
func ReleaseIn(text string) (version.Number, bool) {
	release := PackageRelease.FindStringSubmatch(text)
	if release == nil {
		return version.Number{}, false
	}
	return version.Of(release[1]), true
}

// Exactly returns the release that a row's text names: 2.9.0 for "2.9.0" and for "==2.9.0". It is unknown for a range.
func Exactly(text string) version.Number { return version.Of(strings.TrimPrefix(text, "==")) }

// FoundDriver is the driver that was found, before a target replaces it.
type FoundDriver struct {
	Loaded, CUDA version.Number  // the loaded module's version, and the CUDA that the driver said
	Libraries    []DriverLibrary // its user space
	modules      []Module
}

// DriverLibrary is one of the driver's own libraries.
type DriverLibrary struct {
	*facts.Library
	Number version.Number // that of its driver
}

// Module is a kernel module on disk.
type Module struct {
	*facts.Module
	Number version.Number // that of its driver
}

func foundIn(f *facts.Driver) FoundDriver {
	d := FoundDriver{Loaded: version.Of(f.Version), CUDA: version.Of(f.CUDA)}
	for i := range f.Libraries {
		d.Libraries = append(d.Libraries, DriverLibrary{&f.Libraries[i], version.Of(f.Libraries[i].Version)})
	}
	for i := range f.Modules {
		d.modules = append(d.modules, Module{&f.Modules[i], version.Of(f.Modules[i].Version)})
	}
	return d
}

// Toolkit is an installed CUDA toolkit.
type Toolkit struct {
	*facts.Toolkit
	Number    version.Number // its CUDA release
	GCCNumber version.Number // the newest that its headers accept
}

func newToolkit(t *facts.Toolkit) Toolkit {
	return Toolkit{t, version.Of(t.Version), version.Of(t.GCC)}
}

// Count returns the number in a variable of the process, or 0.
func (m *hwMachine) Count(variable string) int { return version.Int(m.Facts.Variables[variable]) }
