package environment

import (
	"fmt"
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// AddLibraries installs the packages that the build requires. pip and uv check the requirements of an installed
// package, too. The release stays the same, so nothing that works is replaced.
func AddLibraries(b *model.Build) []verdict.Pin {
	own := InstalledDistribution(b)
	return []verdict.Pin{{Package: own.Package, Version: own.Version, Why: "adds the CUDA libraries as wheels; keeps the driver",
		Commands: pins.Install(b.Place(), pin.Install{Packages: []string{own.Spec()}})}}
}

// InstalledDistribution returns the build's own package in its installed release, with the extra that brings the CUDA
// libraries.
func InstalledDistribution(b *model.Build) pin.Package {
	p := pin.Package{Package: b.Name, Version: b.Version}
	if installed := b.Env.Package(b.Name); installed != nil {
		p.Version = installed.Version
	}
	switch b.Name {
	case "jax":
		p.Package = fmt.Sprintf("jax[cuda%d]", b.CUDANumber.Major())
	case "numba-cuda":
		p.Package = fmt.Sprintf("numba-cuda[cu%d]", b.CUDANumber.Major())
	}
	return p
}

// ReinstallPins returns a pin that reinstalls wheels whose files are damaged or missing. pip considers such a wheel
// installed, so the command uses --force-reinstall, and --no-deps to leave the dependencies untouched. One command
// reinstalls all wheels, because a command for one wheel would leave the others damaged.
func ReinstallPins(e *model.Environment, wheels ...pin.Package) []verdict.Pin {
	install := pin.Install{NoDeps: true, Again: true}
	for _, w := range wheels {
		if spec := w.Spec(); !slices.Contains(install.Packages, spec) {
			install.Packages = append(install.Packages, spec)
		}
	}
	return []verdict.Pin{{Package: wheels[0].Package, Version: wheels[0].Version, Why: "puts its files back; keeps the driver",
		Commands: pins.Install(e, install)}}
}

// ReinstallPinsFrom returns the pin that reinstalls one wheel from the given index.
func ReinstallPinsFrom(e *model.Environment, index string, wheel pin.Package) []verdict.Pin {
	list := ReinstallPins(e, wheel)
	list[0].Commands = pins.Install(e, pin.Install{Packages: []string{wheel.Spec()}, Index: index, NoDeps: true, Again: true})
	return list
}
