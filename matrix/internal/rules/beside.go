package rules

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// neighbour is a package in the same environment as a torch, together with the result of comparing the two.
type neighbour struct {
	*model.Installed
	subject string
	build   *model.Build // its own; nil where a list, a file or a plan is all there is of it
	p       fit.Package
	fit     fit.Result
}

// companion reports whether PyTorch itself releases the package.
func (n neighbour) companion(m *model.Machine) bool {
	return n.Name == "triton" || m.Tables.Trait("companion", n.Name, version.Number{})
}

// onlyPins reports whether the package contains no compiled code. Such a package depends on one torch only through its
// metadata, or through the kernel packages that it brings.
func (n neighbour) onlyPins() bool { return len(n.p.Rows) > 0 && n.p.Rows[0].Pure() }

// onDisk reports whether the package is installed in torch's environment, so that its machine code can be read from its
// files.
func (n neighbour) onDisk(torch *model.Build) bool { return n.Path != "" && torch.Path != "" }

// from returns where the package was found: its directory, or the line of a file.
func (n neighbour) from(torch *model.Build) string {
	if r := requested(torch.Env, n.Name); n.Path == "" && r != nil {
		return r.From
	}
	return n.Path
}

// unsupported reports whether a GPU is older than the oldest one that the package's project supports.
func (n neighbour) unsupported(m *model.Machine) bool {
	least, _ := m.Tables.LeastCapability(n.Name, n.Number)
	return least.Known() && slices.ContainsFunc(m.GPUs, func(g model.GPU) bool {
		return g.Capability.Known() && !g.Capability.AtLeast(least)
	})
}

// neighbours compares a torch with every package in its environment that is made for a torch.
func neighbours(m *model.Machine, torch *model.Build) []neighbour {
	var list []neighbour
	own := fitTorch(m, torch)
	for _, p := range besideTorch(m, torch.Env) {
		if !mayCompare(m, p) {
			continue
		}
		if slices.ContainsFunc(m.Requested, func(r *model.Requested) bool {
			return r.Environment == torch.Env.Environment && r.Name == p.Name && unbuilt(m, r)
		}) {
			continue // there is nothing to compare yet
		}
		n := neighbour{Installed: p, subject: p.Name + " " + p.Version + model.PlaceOf(torch.Env.Environment)}
		if p.Name == "triton" { // torch feels it
			n.subject = torch.Subject
		}
		n.build = buildOf(m, torch.Env, p.Name)
		if n.p = fitPackage(m, torch, n); !comparable(m, n.p) {
			continue
		}
		n.fit = fit.Of(m.Tables, own, n.p, fitTarget(m, torch))
		if n.onlyPins() && m.Facts.Observed.Imported && n.fit[fit.Release].State == fit.Differs {
			n.fit[fit.Release].State = fit.Doubtful // pip was overruled, and it was imported
		}
		list = append(list, n)
	}
	return list
}

// besideTorch lists the packages of an environment, including those that are recognised only by their files.
func besideTorch(m *model.Machine, e *model.Environment) []*model.Installed {
	list := pins.Beside(e)
	for _, b := range m.Builds {
		listed := slices.ContainsFunc(list, func(p *model.Installed) bool { return p.Name == b.Name })
		if b.Env == e && b.Extension && b.Version != "" && b.Named == nil && !listed {
			list = append(list, model.NewInstalled(&facts.Package{Name: b.Name, Version: b.Version, Path: b.Path}))
		}
	}
	return list
}

func buildOf(m *model.Machine, e *model.Environment, name string) *model.Build {
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
func fitPackage(m *model.Machine, torch *model.Build, n neighbour) fit.Package {
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
	if b := n.build; b != nil && b.Named == nil {
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

// unanswered returns the open questions about a neighbour. If the package has an answer of its own, that answer becomes
// open; otherwise the outcome does.
func (n neighbour) unanswered(k fit.Key) []*Result {
	missing := verdict.Question(n.fit[k].Why)
	if n.build != nil && n.build.Named == nil {
		return undecidable(n.subject, missing)
	}
	return leftOpen(n.subject, missing)
}

// finder explains why a neighbour does not fit, for one key of the comparison.
type finder func(m *model.Machine, torch *model.Build, n neighbour, k fit.Key) verdict.Finding

// judgeNeighbours reports on the companions of a torch, or on the other packages beside it. It skips installed packages
// whose missing libraries were already reported with their own build. If torch is not PyTorch's own release, version
// numbers prove nothing.
func judgeNeighbours(m *model.Machine, torch *model.Build, companions bool, find finder) []*Result {
	var results []*Result
	for _, n := range neighbours(m, torch) {
		if n.companion(m) != companions || n.build != nil && len(n.build.Unmet) > 0 {
			continue
		}
		// Skip an installed package, because its own libraries were checked. Skip a part that the package can do
		// without, because it is for other GPUs. A GPU that the project does not support is reported by
		// gpu-arch-missing.
		if n.build != nil || n.onDisk(torch) || m.Tables.Trait("dispensable", n.Name, n.Number) || n.unsupported(m) {
			n.fit[fit.Code] = fit.Answer{State: fit.Exempt}
		}
		k, bad := n.fit.Worst()
		if companions && n.fit[fit.CUDA].State == fit.Differs { // its own check comes before its libraries
			k = fit.CUDA
		}
		switch state := n.fit.State(); {
		case !bad:
			results = append(results, holds(n.subject)...)
		case state == fit.Unknown && k == fit.Code:
			results = append(results, unknown(n.subject, verdict.Question(n.fit[k].Why))...)
		case state == fit.Unknown && (!torch.Official() || !torch.Release.Final()) && !planInstalls(m, n.Installed): // it loads there
		case state == fit.Unknown:
			results = append(results, n.unanswered(k)...)
		default:
			f := find(m, torch, n, k)
			results = append(results, oneFinding(f)...)
			if state == fit.Doubtful && n.Name != "triton" {
				results = append(results, leftOpen(n.subject, verdict.Question("whether it loads beside a torch that it was not built for"))...)
			}
		}
	}
	return results
}

// neighbourFinding returns a finding with the fields that all packages share: the two sides of the comparison and the
// severity.
func neighbourFinding(torch *model.Build, n neighbour, k fit.Key) verdict.Finding {
	a := n.fit[k]
	f := verdict.Finding{Severity: verdict.Error, Subject: n.subject, Source: a.Source, Need: a.Want,
		Evidence: append(torch.Evidence(), verdict.Evidence{Fact: n.Name, Value: n.Version, From: n.from(torch)})}
	if a.State != fit.Differs {
		f.Severity = verdict.Warning
	}
	switch k {
	case fit.Release:
		f.Need = "torch " + a.Have
		f.Message = n.Name + " " + n.Version + " was compiled for torch " + a.Have + ", but torch is " + torch.Version
		if n.onlyPins() {
			f.Message = n.Name + " " + n.Version + " requires torch " + a.Have + " in its metadata, but torch is " + torch.Version
		}
	case fit.CUDA:
		f.Need = a.Have
		f.Message = n.Name + " " + n.Version + " was compiled for " + a.Have + "; torch " + torch.Version + " uses " + a.Want
	case fit.ABI:
		f.Need = "the same C++ ABI"
		f.Message = n.Name + " " + n.Version + " was compiled with " + a.Have + "; torch " + torch.Version + " has " + a.Want +
			": importing it ends in an undefined symbol"
	case fit.Python:
		f.Need = a.Want
		f.Message = "the wheel is for " + a.Have + ": pip does not install it for " + a.Want
	case fit.Platform:
		f.Need = "a wheel for " + a.Want
		f.Message = "the wheel is for " + a.Have + ": pip does not install it on " + a.Want
	case fit.Code:
		f.Need = "machine code for compute capability " + a.Want
		f.Message = n.Name + " " + n.Version + " has machine code for " + a.Have + ", and none for compute capability " + a.Want
	}
	return f
}
