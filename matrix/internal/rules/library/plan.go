package library

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// growingWheels matches NVIDIA library wheels that depend on no other wheel's release, and in which a newer release for
// the same CUDA keeps every documented function of an older one. The exports were compared from CUDA 12.4 to 12.9 and
// from 13.0 to 13.5. cuSPARSE and cuSOLVER also grow, but need an nvJitLink of their own date.
var growingWheels = lazyregexp.New(`^nvidia-(cublas|cuda-nvrtc|cuda-runtime|cudnn|cufft|curand|nccl)(-cu\d\d)?$`)

// PlanReplacesByNewer reports whether the plan replaces a library by a newer release that has every function the build
// needs.
func PlanReplacesByNewer(m *model.Machine, b *model.Build, name string) bool {
	had, _ := m.Facts.Plan.Removed(name)
	was, will := version.ParseOrZero(cmp.Or(b.Requires[name], had)), version.ParseOrZero(b.Open[name])
	if !was.Known() {
		return numberedWheels.MatchString(name) && endsFamily(m, will)
	}
	return growingWheels.MatchString(name) && was.Major() == will.Major() && !will.Less(was)
}

// numberedWheels matches the growing wheels that have the version number of their CUDA.
var numberedWheels = lazyregexp.New(`^nvidia-(cublas|cuda-nvrtc|cuda-runtime)(-cu\d\d)?$`)

// endsFamily reports whether a release belongs to the last CUDA of its major version. Its libraries then have
// everything that any build for that major version needs.
func endsFamily(m *model.Machine, release version.Number) bool {
	rows := tables.Rows[tables.CUDA](m.Tables)
	next := slices.IndexFunc(rows, func(c tables.CUDA) bool { return release.LessShort(c.Release) })
	return next >= 0 && rows[next].Release.Major() > release.Major()
}

// ReportReplacedLibraries reports a framework that stays while the plan replaces one of its libraries by a release that
// the framework does not pin. For cuDNN the versions decide, in cudnn-mismatch.
func ReportReplacedLibraries(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Extension { // extension-mismatch reports it
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		ofCuDNN := name == fmt.Sprintf("nvidia-cudnn-cu%d", b.CUDANumber.Major()) && len(b.Env.Twins("cudnn")) < 2
		if ofCuDNN || PlanReplacesByNewer(m, b, name) {
			continue
		}
		return rule.ReportUndecided(b.Subject, verdict.Question(fmt.Sprintf("whether it runs with %s %s, which it does not ask for and which is to replace what it was installed with", name, b.Open[name])))
	}
	return nil
}

// planLacksLibraries reports whether a plan brings a package for a CUDA into an environment without any wheel of
// that CUDA, as with --no-deps.
func planLacksLibraries(m *model.Machine, b *model.Build) bool {
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
