package environment

import (
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// HasMixedWheels reports whether an environment has NVIDIA wheels from another release than the build, as after pip
// install --no-deps: for two or more libraries the wheel is missing or has another version than the build pins. A
// single different wheel was probably changed on purpose.
func HasMixedWheels(b *model.Build) bool {
	gone := slices.DeleteFunc(b.Nowhere(), func(library string) bool { return b.Installed(library) != nil })
	other := len(gone)
	for name, release := range b.Requires {
		p := b.Env.Package(name)
		if (strings.HasPrefix(name, "nvidia-") || name == "cuda-toolkit") && p != nil && p.Version != release {
			other++
		}
	}
	return other > 1 && !sharesLibraries(b)
}

// sharesLibraries reports whether another CUDA framework has its libraries in the same environment. A change for one
// would break the other.
func sharesLibraries(b *model.Build) bool {
	return slices.ContainsFunc(b.Env.Builds, func(o facts.Build) bool {
		return o.Name != b.Name && slices.Contains(model.Frameworks(), o.Name) && o.Accelerator == "cuda"
	})
}

// RequirementPins returns everything that a build requires: the requirements of an engine that was made for another
// torch, if there is one, otherwise the installed release with its libraries and companions.
func RequirementPins(m *model.Machine, b *model.Build) []verdict.Pin {
	if pins := EnginePins(m, b); len(pins) > 0 {
		return pins
	}
	if !HasMixedWheels(b) {
		return AddLibraries(b)
	}
	index, companions := "", companionsOf(m, b)
	for _, p := range companions {
		if _, local, found := strings.Cut(p.Version, "+"); found {
			index = pins.TorchIndex(local)
		}
	}
	own := InstalledDistribution(b)
	return []verdict.Pin{{Package: own.Package, Version: own.Version,
		Why:      "installs what " + b.Name + " requires; keeps the driver",
		Commands: pins.Commands(b, b.CUDANumber, append([]pin.Package{own}, companions...), index)}}
}

// companionsOf returns the companions of a build's release, from the build's index, if others are installed.
func companionsOf(m *model.Machine, b *model.Build) []pin.Package {
	if b.Name != "torch" || len(b.Rows) == 0 {
		return nil
	}
	var list []pin.Package
	own := b.Env.Package(b.Name)
	for _, c := range b.Rows[0].Companions {
		have := b.Env.Package(c.Package)
		if have == nil || c.Package == "triton" || c.Version == "" || have.Number.Compare(version.ParseOrZero(c.Version)) == 0 {
			continue
		}
		if local, ok := pins.CompanionFor(m, c, b.Rows[0]); ok && own != nil && strings.Contains(own.Version, "+") {
			c = local
		}
		list = append(list, c)
	}
	return list
}
