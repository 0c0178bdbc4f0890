package matrix

import (
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// besideOwn reports whether a build stands beside the wheels of another release, as after pip install --no-deps: of two
// or more libraries the wheel is of another version than the build pins, or is not there. One by itself was changed by
// itself.
func (b *build) besideOwn() bool {
	gone := slices.DeleteFunc(b.nowhere(), func(library string) bool { return b.installed(library) != nil })
	other := len(gone)
	for name, release := range b.Requires {
		p := b.env.Package(name)
		if (strings.HasPrefix(name, "nvidia-") || name == "cuda-toolkit") && p != nil && p.Version != release {
			other++
		}
	}
	return other > 1 && !b.shared()
}

// shared reports whether another framework for CUDA has its libraries in the same environment: what one requires would
// be taken from the other.
func (b *build) shared() bool {
	return slices.ContainsFunc(b.env.Builds, func(o facts.Build) bool {
		return o.Name != b.Name && slices.Contains(Frameworks(), o.Name) && o.Accelerator == "cuda"
	})
}

// required is what a build asks for, all at once: what an engine that is made for another torch asks for where there is
// one, else the release that is there with its libraries and companions.
func (m *machine) required(b *build) []Pin {
	if pins := m.engineFirst(b); len(pins) > 0 {
		return pins
	}
	if !b.besideOwn() {
		return b.withLibraries()
	}
	index, companions := "", m.companionsOf(b)
	for _, p := range companions {
		if _, local, found := strings.Cut(p.Version, "+"); found {
			index = torchIndex(local)
		}
	}
	own := b.distribution()
	return []Pin{{Package: own.Package, Version: own.Version,
		Why:      "installs what " + b.Name + " requires; keeps the driver",
		Commands: b.commands(b.cuda, append([]pin.Package{own}, companions...), index)}}
}

// companionsOf are the companions of a build's release where others are installed, from the index that it is from.
func (m *machine) companionsOf(b *build) []pin.Package {
	if b.Name != "torch" || len(b.rows) == 0 {
		return nil
	}
	var list []pin.Package
	own := b.env.Package(b.Name)
	for _, c := range b.rows[0].companions {
		have := b.env.Package(c.Package)
		if have == nil || c.Package == "triton" || c.Version == "" || have.version.Compare(version.Of(c.Version)) == 0 {
			continue
		}
		if local, ok := m.companionFor(c, b.rows[0]); ok && own != nil && strings.Contains(own.Version, "+") {
			c = local
		}
		list = append(list, c)
	}
	return list
}

// engineFirst is what puts an engine and the torch that is there together again, where one is made for another torch:
// what goes with this torch would be the wrong release then.
func (m *machine) engineFirst(b *build) []Pin {
	for _, engine := range m.enginesIn(b.env) {
		if rows := m.extensionRows(engine); b.Name == "torch" && len(rows) > 0 {
			if f, bad := m.extension(b, engine, rows); bad && len(f.Pins) > 0 {
				return f.Pins
			}
		}
	}
	return nil
}
