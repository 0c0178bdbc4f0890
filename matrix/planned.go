package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// What a plan foretells (facts.Plan): builds that come are known by their names, as those of a file; builds that stay
// are known by their files, but where these lead to what is replaced (facts.Build.Open) only the tables tell.

// comes reports whether a package is one that a plan brings.
func (m *machine) comes(p *installed) bool {
	if m.f.Plan == nil {
		return false
	}
	_, comes := m.f.Plan.Installed(p.Name)
	return comes
}

// untold: an extension stays, and what its files were read with is replaced. Where no row pairs it with what comes,
// nobody knows; where one does, the rule that compares them with their framework says whether they fit.
func (m *machine) untold(b *build) []*result {
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		if name == b.Framework && m.paired(b) {
			continue
		}
		return undecidable(b.subject, fmt.Sprintf("whether it fits %s %s, which is to replace the one that it was "+
			"installed with: no row of the tables pairs them", name, b.Open[name]))
	}
	return nil
}

// paired reports whether the tables say for which framework an extension was built.
func (m *machine) paired(b *build) bool {
	torch := m.frameworkOf(b)
	if torch == nil || torch.Name != "torch" || len(torch.rows) == 0 {
		return false
	}
	if want := m.companionOf(torch, b.Name); want != "" {
		return b.Name != "torchaudio" || !m.otherAudioRelease(b.Version, want)
	}
	p := b.env.Package(b.Name)
	return p != nil && len(m.extensionRows(p)) > 0
}

// untoldLibraries: a framework stays, and a library that it loads, or a part of it, is to be replaced by a release that
// it does not pin. Of cuDNN the versions decide, in cudnn-mismatch; an NCCL that is newer has every function of an older
// one.
func (b *build) untoldLibraries() []*result {
	if b.Extension { // untold says it
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		pinned, coming := version.Of(b.Requires[name]), version.Of(b.Open[name])
		switch {
		case name == fmt.Sprintf("nvidia-cudnn-cu%d", b.cuda.Major()) && len(b.env.twins("cudnn")) < 2:
			continue
		case strings.HasPrefix(name, "nvidia-nccl") && pinned.Known() && !coming.Less(pinned):
			continue
		}
		return undecidable(b.subject, fmt.Sprintf("whether it runs with %s %s, which it does not ask for and which is to "+
			"replace what it was installed with", name, b.Open[name]))
	}
	return nil
}

// otherAudioRelease reports whether a torchaudio is of another release than the torch's own: some load, and some lack a
// symbol. Those on torch's stable ABI load.
func (m *machine) otherAudioRelease(have, want string) bool {
	stable := func(release string) bool { return m.t.Trait("stable-abi", "torchaudio", version.Of(release)) }
	public, _, _ := strings.Cut(have, "+")
	return version.Of(public).Short() != version.Of(want).Short() && !(stable(public) && stable(want))
}

// comingTwin is the package with the modules of this one that a plan brings, "onnxruntime 1.23.0" or a CuPy for another
// CUDA; empty where it brings none.
func (m *machine) comingTwin(b *build) string {
	if m.f.Plan == nil {
		return ""
	}
	for _, coming := range m.f.Plan.Installs {
		if coming.Name == twins[b.Name] || coming.Name != b.Name && sameProject(coming.Name, b.Name) {
			return strings.TrimSpace(coming.Name + " " + coming.Version)
		}
	}
	return ""
}

// underTwin: what comes is written over what stays; of two that come, nobody says which is the last.
func (m *machine) underTwin(b *build) []*result {
	twin := m.comingTwin(b)
	if b.planned {
		return undecidable(b.subject, "which of it and "+twin+" is written last: both have the same files")
	}
	f := b.overwritten(facts.Hindrance{By: twin, Path: b.Path})
	f.Message = fmt.Sprintf("%s is to be written over %s: Python will import its modules", twin, b.Name)
	f.Evidence = b.evidence()
	return found(f)
}

// unbuilt reports whether a plan brings a package that is compiled for one torch, of a release of which the tables have
// no wheel: where the index has its source alone, it is compiled on this machine when it is installed.
func (m *machine) unbuilt(n *named) bool {
	release, _ := version.ParseRelease(n.Version)
	if m.f.Plan == nil || n.Version == "" || n.uses != "torch" || release.Local != "" ||
		m.t.Trait("compiled-when-used", n.Name, release.Number) {
		return false
	}
	return len(tables.RowsOf[tables.Extension](m.t, n.Name)) > 0 &&
		!slices.ContainsFunc(n.rows, func(e tables.Extension) bool { return e.Variant != "sdist" })
}

// besideOther reports whether a plan brings a torchcodec or a torchaudio that was built for another torch than the one
// that is there then: some releases load beside the next torch, and some do not.
func (m *machine) besideOther(n *named) bool {
	if m.f.Plan == nil {
		return false
	}
	return slices.ContainsFunc(m.builds, func(b *build) bool {
		switch {
		case b.Name != "torch" || b.env.Environment != n.env:
			return false
		case n.Name == "torchcodec":
			return len(n.rows) > 0 && otherTorch(n.rows[0].Torch, b.release.Number)
		case n.Name == "torchaudio" && n.Version != "":
			want := m.companionOf(b, n.Name)
			return want != "" && m.otherAudioRelease(n.Version, want)
		}
		return false
	})
}

// withoutLibrariesOfCUDA reports whether a plan brings a package for a CUDA into an environment with none of that CUDA's
// wheels, as with --no-deps.
func (m *machine) withoutLibrariesOfCUDA(b *build) bool {
	if m.f.Plan == nil || !b.planned || !b.cuda.Known() || b.either() || b.compilesLater() || len(m.toolkits) > 0 {
		return false
	}
	family := fmt.Sprintf("-cu%d", b.cuda.Major())
	brings := func(name string) bool {
		return strings.HasPrefix(name, "nvidia-cu") && (strings.HasSuffix(name, family) || b.cuda.Major() >= 13) ||
			name == "cuda-toolkit"
	}
	return !slices.ContainsFunc(b.env.Packages, func(p facts.Package) bool { return brings(p.Name) }) &&
		!slices.ContainsFunc(b.env.Wanted, func(w facts.Wanted) bool { return brings(w.Name) })
}

// publicPlan is a plan without the packages that CUDA has nothing to do with: their names may be nobody else's business.
func (m *machine) publicPlan(p *facts.Plan) *facts.Plan {
	private := func(one facts.Planned) bool { return !m.public(one) }
	public := *p
	public.Removes = slices.DeleteFunc(slices.Clone(p.Removes), private)
	public.Installs = slices.DeleteFunc(slices.Clone(p.Installs), private)
	public.Lacks = slices.DeleteFunc(slices.Clone(p.Lacks), func(l facts.Lack) bool { return private(facts.Planned{Name: l.Of}) })
	return &public
}

// public reports whether CUDA has to do with a distribution, by its name.
func (m *machine) public(one facts.Planned) bool {
	n := m.namedOf(&facts.Environment{}, &facts.Wanted{Name: one.Name, Version: one.Version})
	return isFramework(one.Name) || n != nil && n.uses != "either" || helper.MatchString(one.Name) ||
		slices.Contains([]string{"triton", "numpy", "protobuf", "torchvision", "torchaudio"}, one.Name)
}

func isFramework(name string) bool {
	return slices.Contains(Frameworks(), name) || strings.HasPrefix(name, "jax") || strings.HasPrefix(name, "tensorflow")
}
