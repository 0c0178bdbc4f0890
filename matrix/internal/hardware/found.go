package hardware

import (
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// ReleaseIn returns the driver release in a package's version, or false.
func ReleaseIn(text string) (version.Number, bool) {
	release := PackageRelease.FindStringSubmatch(text)
	if release == nil {
		return version.Number{}, false
	}
	return version.ParseOrZero(release[1]), true
}

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
	d := FoundDriver{Loaded: version.ParseOrZero(f.Version), CUDA: version.ParseOrZero(f.CUDA)}
	for i := range f.Libraries {
		d.Libraries = append(d.Libraries, DriverLibrary{&f.Libraries[i], version.ParseOrZero(f.Libraries[i].Version)})
	}
	for i := range f.Modules {
		d.modules = append(d.modules, Module{&f.Modules[i], version.ParseOrZero(f.Modules[i].Version)})
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
	return Toolkit{t, version.ParseOrZero(t.Version), version.ParseOrZero(t.GCC)}
}

// Count returns the number in a variable of the process, or 0.
func (m *Machine) Count(variable string) int { return version.Int(m.Facts.Variables[variable]) }
