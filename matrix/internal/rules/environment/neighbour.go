// Package environment compares the packages of a Python environment with their framework, and finds the pins that make
// them fit again. It contains no rule. The rules about packages share its comparison, so that they agree on what is
// wrong, and its pins, so that the fixes in one report fit each other.
//
// A Neighbour is a package beside a torch with the result of the comparison. RequirementPins, EnginePins and
// FindCompanion find releases that fit, ReinstallPins puts lost files back, and FitTogether adjusts the fixes of a
// whole report.
package environment

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/probe/facts"
)

// Neighbour is a package in the same environment as a torch, together with the result of comparing the two.
type Neighbour struct {
	*model.Installed
	Subject string
	Build   *model.Build // its own; nil where a list, a file or a plan is all there is of it
	Package fit.Package
	Fit     fit.Result
}

// IsCompanion reports whether PyTorch itself releases the package.
func (n Neighbour) IsCompanion(m *model.Machine) bool {
	return n.Name == "triton" || m.Tables.Trait("companion", n.Name, version.Number{})
}

// OnlyPins reports whether the package contains no compiled code. Such a package depends on one torch only through its
// metadata, or through the kernel packages that it brings.
func (n Neighbour) OnlyPins() bool { return len(n.Package.Rows) > 0 && n.Package.Rows[0].Pure() }

// IsOnDisk reports whether the package is installed in torch's environment, so that its machine code can be read from
// its files.
func (n Neighbour) IsOnDisk(torch *model.Build) bool { return n.Path != "" && torch.Path != "" }

// FoundIn returns where the package was found: its directory, or the line of a file.
func (n Neighbour) FoundIn(torch *model.Build) string {
	if r := requested(torch.Env, n.Name); n.Path == "" && r != nil {
		return r.From
	}
	return n.Path
}

// HasUnsupportedGPU reports whether a GPU is older than the oldest one that the package's project supports.
func (n Neighbour) HasUnsupportedGPU(m *model.Machine) bool {
	least, _ := m.Tables.LeastCapability(n.Name, n.Number)
	return least.Known() && slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		return g.Capability.Known() && !g.Capability.AtLeast(least)
	})
}

// CompareNeighbours compares a torch with every package in its environment that is made for a torch.
func CompareNeighbours(m *model.Machine, torch *model.Build) []Neighbour {
	var list []Neighbour
	own := fitTorch(m, torch)
	for _, p := range packagesBeside(m, torch.Env) {
		if !mayCompare(m, p) {
			continue
		}
		if slices.ContainsFunc(m.Requested, func(r *model.Requested) bool {
			return r.Environment == torch.Env.Environment && r.Name == p.Name && IsUnbuilt(m, r)
		}) {
			continue // there is nothing to compare yet
		}
		n := Neighbour{Installed: p, Subject: p.Name + " " + p.Version + model.PlaceOf(torch.Env.Environment)}
		if p.Name == "triton" { // torch feels it
			n.Subject = torch.Subject
		}
		n.Build = findBuild(m, torch.Env, p.Name)
		if n.Package = fitPackage(m, torch, n); !comparable(m, n.Package) {
			continue
		}
		n.Fit = fit.Compare(m.Tables, own, n.Package, fitTarget(m, torch))
		if n.OnlyPins() && m.Facts.Observed.Imported && n.Fit[fit.Release].State == fit.Differs {
			n.Fit[fit.Release].State = fit.Doubtful // pip was overruled, and it was imported
		}
		list = append(list, n)
	}
	return list
}

// packagesBeside lists the packages of an environment, including those that are recognised only by their files.
func packagesBeside(m *model.Machine, e *model.Environment) []*model.Installed {
	list := pins.Beside(e)
	for _, b := range m.Builds {
		listed := slices.ContainsFunc(list, func(p *model.Installed) bool { return p.Name == b.Name })
		if b.Env == e && b.Extension && b.Version != "" && b.Named == nil && !listed {
			list = append(list, model.NewInstalled(&facts.Package{Name: b.Name, Version: b.Version, Path: b.Path}))
		}
	}
	return list
}

func findBuild(m *model.Machine, e *model.Environment, name string) *model.Build {
	i := slices.IndexFunc(m.Builds, func(b *model.Build) bool { return b.Env == e && b.Extension && b.Name == name })
	if i < 0 {
		return nil
	}
	return m.Builds[i]
}

// mayCompare reports whether enough is known of a package for comparable to accept it. It exists for speed: most of a
// file's thousands of packages have nothing to do with torch.
func mayCompare(m *model.Machine, p *model.Installed) bool {
	_, compiled := p.Release().Compiled()
	return p.Name == "triton" || compiled.Known() || len(tables.RowsOf[tables.Extension](m.Tables, p.Name)) > 0 ||
		m.Tables.Trait("companion", p.Name, version.Number{})
}

// comparable reports whether a package is made for a torch at all. PyTorch's own companions are, and so are packages
// whose row or version names a torch or a CUDA. A package that brings its own CUDA libraries is not.
func comparable(m *model.Machine, p fit.Package) bool {
	switch _, compiled := p.Release.Compiled(); {
	case !p.Release.Number.Known(), m.Tables.Trait("own-cuda", p.Name, p.Release.Number):
		return false
	case p.Name == "triton", m.Tables.Trait("companion", p.Name, version.Number{}):
		return p.Release.Final()
	case compiled.Known():
		return true
	}
	return p.Release.Final() && slices.ContainsFunc(p.Rows, func(e tables.Extension) bool {
		return len(e.Torch)+len(e.CUDA) > 0 || e.Variant == "sdist"
	})
}

// fitTorch converts a torch to the form that package fit compares.
func fitTorch(m *model.Machine, b *model.Build) fit.Torch {
	return fit.Torch{Release: b.Release, Platform: m.Platform, Vendor: !b.Official() || !b.Release.Final(), CUDA: b.Answer}
}

// fitPackage converts a package to the form that package fit compares. What its files say takes precedence over its
// name and the tables.
func fitPackage(m *model.Machine, torch *model.Build, n Neighbour) fit.Package {
	e := torch.Env
	p := fit.Package{Name: n.Name, Release: n.Release()}
	p.Rows, p.Either = rowsOf(m, torch, n.Installed)
	said := cudaof.Package{Name: n.Name, Release: p.Release, Version: n.Version, Rows: p.Rows, Platform: m.Platform,
		Index: cmp.Or(indexOf(e, n.Name), cudaof.DefaultIndex)}
	if p.Release.Local == "" && m.Tables.Trait("companion", n.Name, version.Number{}) && fromElsewhere(m, torch) {
		public, _, _ := strings.Cut(n.Version, "+")
		p.Rows, p.Either = companionRows(m, tables.RowsOf[tables.Extension](m.Tables, n.Name), public), false
		said.Rows, said.Index = p.Rows, ""
	}
	if r := requested(e, n.Name); r != nil && r.Wheel != "" {
		p.Tags = fit.TagsOf(r.Wheel)
	}
	if b := n.Build; b != nil && b.Named == nil {
		said.Said, said.Accelerator = b.CUDA, b.Accelerator
		p.Resolved = b.Compared && len(b.Unmet)+len(b.Open) == 0
	}
	p.CUDA = cudaof.Find(m.Tables, said)
	return p
}

// fromElsewhere reports whether torch has no local version although it is not the build of the default index, as with
// conda's builds. A companion without a local version then need not come from the default index either.
func fromElsewhere(m *model.Machine, torch *model.Build) bool {
	if torch.Release.Local != "" || torch.Device == "" {
		return false
	}
	index := cudaof.Find(m.Tables, cudaof.Package{Name: "torch", Release: torch.Release, Index: cudaof.DefaultIndex, Platform: m.Platform})
	return torch.Origin == "conda" || index.Known() &&
		(index.Device != torch.Device || torch.CUDANumber.Known() && index.CUDANumber.Short() != torch.CUDANumber.Short())
}

// requested returns how a file names a package; nil where none does.
func requested(e *model.Environment, name string) *facts.Requested {
	i := slices.IndexFunc(e.Requested, func(r facts.Requested) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Requested[i]
}

// indexOf returns the index from which a file's package would be installed. It is "" if the index is not known or the
// package is already installed.
func indexOf(e *model.Environment, name string) string {
	if r := requested(e, name); r != nil {
		return r.Index
	}
	return ""
}

// fitTarget returns the Python and the GPUs of the machine, for package fit.
func fitTarget(m *model.Machine, torch *model.Build) fit.Target {
	t := fit.Target{Python: version.ShortPython(torch.Interpreter)}
	for _, g := range m.GPUs {
		if g.Capability.Known() {
			t.GPUs = append(t.GPUs, g.Capability)
		}
	}
	return t
}

// rowsOf returns the table rows that may describe a package on this platform, and whether it is open which of them
// does. A package without a local version is the wheel of the installer's own index. Beside a torch that names its
// variant, it may also be the wheel with the same number on that variant's index. Nightlies and pre-releases have no
// rows.
func rowsOf(m *model.Machine, torch *model.Build, p *model.Installed) (rows []tables.Extension, either bool) {
	r := p.Release()
	public, _, _ := strings.Cut(p.Version, "+")
	if !r.Number.Known() || !r.Final() {
		return nil, false
	}
	index := indexOf(torch.Env, p.Name)
	beside := torchIndex(torch)
	all := tables.RowsOf[tables.Extension](m.Tables, p.Name)
	if r.Local != "" && m.Tables.Trait("companion", p.Name, version.Number{}) {
		return companionRows(m, all, public), false
	}
	for _, row := range all {
		published := row.Variant == "pypi" || row.Variant == "sdist"
		own := r.Local == "" && (published || row.Variant == index || matchesVariant(row, beside)) ||
			r.Local != "" && (row.Variant == r.Local || model.MadeFor(row, r))
		if own && version.SameRelease(row.Release, public) && row.IsFor(m.Platform) {
			rows = append(rows, row)
		}
	}
	if i := slices.IndexFunc(rows, func(row tables.Extension) bool { return index != "" && row.Variant == index }); i >= 0 {
		return rows[i : i+1], false
	}
	return rows, beside != ""
}

// matchesVariant reports whether a row belongs to a variant such as "cu124". A release whose wheels differ by torch or
// by Python has one row for each set, named like "cu124-torch2.6".
func matchesVariant(e tables.Extension, variant string) bool {
	own, _, _ := strings.Cut(e.Variant, "-torch")
	return variant != "" && own == variant
}

// torchIndex returns the variant whose index torch was installed from, such as "cu130". It returns "" for the
// installer's own index, whose wheels have a local version in version.py but not in METADATA.
func torchIndex(torch *model.Build) string {
	full := torch.Version
	if p := torch.Env.Package("torch"); p != nil && strings.HasPrefix(full, p.Version) {
		full = p.Version
	}
	_, variant, _ := strings.Cut(full, "+")
	return variant
}

// companionRows returns the part of a companion's rows that also holds for its builds for other CUDAs: the torch that
// they belong to. Its CUDA, C++ ABI and machine code hold only for the build on the installer's own index.
func companionRows(m *model.Machine, all []tables.Extension, public string) []tables.Extension {
	for _, row := range all {
		if version.SameRelease(row.Release, public) && row.IsFor(m.Platform) {
			row.CUDA, row.CXX11, row.SASS, row.PTX, row.Links, row.Opens = nil, nil, nil, nil, nil, nil
			return []tables.Extension{row}
		}
	}
	return nil
}
