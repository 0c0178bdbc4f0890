package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// A plan (facts.Plan) announces what an installer will do. Builds that it brings are judged by their names, like those
// in a file. Builds that stay are judged by their files. If those files depend on something that the plan replaces
// (facts.Build.Open), only the tables can judge them.

// planInstalls reports whether the plan installs a package.
func planInstalls(m *model.Machine, p *model.Installed) bool {
	if m.Facts.Plan == nil {
		return false
	}
	_, comes := m.Facts.Plan.Installed(p.Name)
	return comes
}

// pairingUnknown reports an extension that stays installed while its framework is replaced. If no row pairs the two,
// the answer is unknown. If a row does, another rule compares the extension with the framework. The extension imports
// its framework, so it has the same open questions.
func pairingUnknown(m *model.Machine, b *model.Build) []*Result {
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		if name == b.Framework && frameworkListed(m, b) || planReplacesByNewer(m, b, name) {
			continue
		}
		return undecidable(b.Subject, verdict.Question(fmt.Sprintf("whether it fits %s %s, which it was not installed with: no row of the tables pairs them", name, b.Open[name])))
	}
	torch := m.FrameworkOf(b)
	if torch == nil || torch.Name != b.Framework || len(untoldLibraries(m, torch)) == 0 {
		return nil
	}
	return undecidable(b.Subject, untoldLibraries(m, torch)[0].Missing)
}

// frameworkListed reports whether the tables say which framework an extension was built for.
func frameworkListed(m *model.Machine, b *model.Build) bool {
	torch := m.FrameworkOf(b)
	if torch == nil || torch.Name != "torch" || len(torch.Rows) == 0 {
		return false
	}
	i := slices.IndexFunc(neighbours(m, torch), func(n neighbour) bool { return n.build == b })
	if i < 0 {
		return false
	}
	n := neighbours(m, torch)[i]
	return n.fit[fit.Release].State != fit.Unknown && n.fit[fit.CUDA].State != fit.Unknown && n.fit[fit.ABI].State != fit.Unknown
}

// grows matches NVIDIA library wheels that depend on no other wheel's release, and in which a newer release for the
// same CUDA keeps every documented function of an older one. The exports were compared from CUDA 12.4 to 12.9 and from
// 13.0 to 13.5. cuSPARSE and cuSOLVER also grow, but need an nvJitLink of their own date.
var grows = lazyregexp.New(`^nvidia-(cublas|cuda-nvrtc|cuda-runtime|cudnn|cufft|curand|nccl)(-cu\d\d)?$`)

// planReplacesByNewer reports whether the plan replaces a library by a newer release that has every function the build
// needs.
func planReplacesByNewer(m *model.Machine, b *model.Build, name string) bool {
	had, _ := m.Facts.Plan.Removed(name)
	was, will := version.Of(cmp.Or(b.Requires[name], had)), version.Of(b.Open[name])
	if !was.Known() {
		return numbered.MatchString(name) && endsFamily(m, will)
	}
	return grows.MatchString(name) && was.Major() == will.Major() && !will.Less(was)
}

// numbered matches those of them that have the version number of their CUDA.
var numbered = lazyregexp.New(`^nvidia-(cublas|cuda-nvrtc|cuda-runtime)(-cu\d\d)?$`)

// endsFamily reports whether a release belongs to the last CUDA of its major version. Its libraries then have
// everything that any build for that major version needs.
func endsFamily(m *model.Machine, release version.Number) bool {
	rows := tables.Rows[tables.CUDA](m.Tables)
	next := slices.IndexFunc(rows, func(c tables.CUDA) bool { return release.LessShort(c.Release) })
	return next >= 0 && rows[next].Release.Major() > release.Major()
}

// untoldLibraries reports a framework that stays while the plan replaces one of its libraries by a release that the
// framework does not pin. For cuDNN the versions decide, in cudnn-mismatch.
func untoldLibraries(m *model.Machine, b *model.Build) []*Result {
	if b.Extension { // untold says it
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		ofCuDNN := name == fmt.Sprintf("nvidia-cudnn-cu%d", b.CUDANumber.Major()) && len(b.Env.Twins("cudnn")) < 2
		if ofCuDNN || planReplacesByNewer(m, b, name) {
			continue
		}
		return undecidable(b.Subject, verdict.Question(fmt.Sprintf("whether it runs with %s %s, which it does not ask for and which is to replace what it was installed with", name, b.Open[name])))
	}
	return nil
}

// refusedJaxlib returns the jaxlib that the plan leaves and that jax's row does not accept. It returns nil if jax
// accepts it or nobody knows.
func refusedJaxlib(m *model.Machine, b *model.Build) *facts.Hindrance {
	jax, jaxlib := b.Env.Package("jax"), b.Env.Package("jaxlib")
	if m.Facts.Plan == nil || b.Name != "jax" || jax == nil || jaxlib == nil {
		return nil
	}
	row := m.Tables.JAX(jax.Number, b.CUDANumber, m.Platform)
	if row == nil || row.Jaxlib == "" {
		return nil
	}
	accepted, err := version.ParseSpecifiers(row.Jaxlib)
	if err != nil || accepted.Has(jaxlib.Version) {
		return nil
	}
	return &facts.Hindrance{Kind: facts.HindranceRelease, Of: "jaxlib " + jaxlib.Version, By: "jaxlib" + row.Jaxlib, Path: row.Source[0]}
}

// comingTwin returns the package with the same modules that a plan brings: "onnxruntime 1.23.0", or a CuPy for another
// CUDA. It returns "" if there is none.
func comingTwin(m *model.Machine, b *model.Build) string {
	if m.Facts.Plan == nil {
		return ""
	}
	for _, coming := range m.Facts.Plan.Installs {
		if model.IsTwin(coming.Name, b.Name) || coming.Name != b.Name && pins.SameProject(coming.Name, b.Name) {
			return strings.TrimSpace(coming.Name + " " + coming.Version)
		}
	}
	return ""
}

// underTwin reports a package that the plan overwrites. If the plan brings two with the same modules, nobody knows
// which comes last.
func underTwin(m *model.Machine, b *model.Build) []*Result {
	twin := comingTwin(m, b)
	if b.Planned {
		return undecidable(b.Subject, verdict.Question("which of it and "+twin+" is written last: both have the same files"))
	}
	f := overwritten(b, facts.Hindrance{By: twin, Path: b.Path})
	f.Message = fmt.Sprintf("%s is to be written over %s: Python will import its modules", twin, b.Name)
	f.Evidence = b.Evidence()
	return oneFinding(f)
}

// withoutLibrariesOfCUDA reports whether a plan brings a package for a CUDA into an environment without any wheel of
// that CUDA, as with --no-deps.
func withoutLibrariesOfCUDA(m *model.Machine, b *model.Build) bool {
	if m.Facts.Plan == nil || !b.Planned || !b.CUDANumber.Known() || b.Either() || b.CompilesLater() || len(m.Toolkits) > 0 {
		return false
	}
	family := fmt.Sprintf("-cu%d", b.CUDANumber.Major())
	brings := func(name string) bool {
		return strings.HasPrefix(name, "nvidia-cu") && (strings.HasSuffix(name, family) || b.CUDANumber.Major() >= 13) ||
			name == "cuda-toolkit"
	}
	return !slices.ContainsFunc(b.Env.Packages, func(p facts.Package) bool { return brings(p.Name) }) &&
		!slices.ContainsFunc(b.Env.Requested, func(w facts.Requested) bool { return brings(w.Name) })
}
