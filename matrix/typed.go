package matrix

import (
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// Facts are text. Here stand those that rules compare, with what their text says read once.

// installed is an installed package.
type installed struct {
	*facts.Package
	version version.Number   // its release's numbers
	pep440  *version.Release // nil until it is asked for
}

// newInstalled reads the numbers of a package that was found.
func newInstalled(p *facts.Package) *installed {
	return &installed{Package: p, version: version.Of(p.Version)}
}

// release is its version by PEP 440; the zero Release where it is none.
func (p *installed) release() version.Release {
	if p.pep440 == nil {
		r, _ := version.ParseRelease(p.Version)
		p.pep440 = &r
	}
	return *p.pep440
}

// family is the CUDA family in the package's name, 12 of nvidia-nccl-cu12; not known where none is there.
func (p *installed) family() version.Number {
	if m := familySuffix.FindStringSubmatch(p.Name); m != nil {
		return version.Of(m[1])
	}
	return version.Number{}
}

// taken is a library that the loader takes.
type taken struct {
	*facts.Taken
	version, cuda version.Number // its own, and the CUDA that it is for
}

func takenBy(b *facts.Build) []taken {
	list := make([]taken, len(b.Taken))
	for i := range b.Taken {
		t := &b.Taken[i]
		list[i] = taken{t, version.Of(t.Version), version.Of(t.CUDA)}
	}
	return list
}

// isaOf are versions of PTX, by its target.
func isaOf(text map[string]string) map[string]version.Number {
	isa := make(map[string]version.Number, len(text))
	for target, v := range text {
		isa[target] = version.Of(v)
	}
	return isa
}

// releaseIn is the driver's release in a package's version; false where it holds none.
func releaseIn(text string) (version.Number, bool) {
	release := packageRelease.FindStringSubmatch(text)
	if release == nil {
		return version.Number{}, false
	}
	return version.Of(release[1]), true
}

// exactly is the one release that a row's text names, 2.9.0 of "2.9.0" and of "==2.9.0"; not known of a range.
func exactly(text string) version.Number { return version.Of(strings.TrimPrefix(text, "==")) }

// foundDriver is the driver as it was found, whatever a target says over it.
type foundDriver struct {
	loaded, cuda version.Number  // the loaded module's version, and the CUDA that the driver said
	libraries    []driverLibrary // its user space
	modules      []module
}

// driverLibrary is one of the driver's own libraries.
type driverLibrary struct {
	*facts.Library
	version version.Number // that of its driver
}

// module is a kernel module on disk.
type module struct {
	*facts.Module
	version version.Number // that of its driver
}

func foundIn(f *facts.Driver) foundDriver {
	d := foundDriver{loaded: version.Of(f.Version), cuda: version.Of(f.CUDA)}
	for i := range f.Libraries {
		d.libraries = append(d.libraries, driverLibrary{&f.Libraries[i], version.Of(f.Libraries[i].Version)})
	}
	for i := range f.Modules {
		d.modules = append(d.modules, module{&f.Modules[i], version.Of(f.Modules[i].Version)})
	}
	return d
}

// toolkit is an installed CUDA toolkit.
type toolkit struct {
	*facts.Toolkit
	version version.Number // its CUDA release
	gcc     version.Number // the newest that its headers accept
}

func newToolkit(t *facts.Toolkit) toolkit {
	return toolkit{t, version.Of(t.Version), version.Of(t.GCC)}
}

// assembled is a compiler that was read, nil where its version is not known.
func assembled(words string, a *facts.Assembler) *jitCompiler {
	return known(jitCompiler{words, version.Of(a.Version), a.Path})
}

// count is the number that a variable of the process holds; 0 where it holds none.
func (m *machine) count(variable string) int { return version.Int(m.f.Variables[variable]) }
