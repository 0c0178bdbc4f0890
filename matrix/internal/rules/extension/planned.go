package extension

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/library"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// A plan (facts.Plan) announces what an installer will do. Builds that it brings are judged by their names, like those
// in a file. Builds that stay are judged by their files. If those files depend on something that the plan replaces
// (facts.Build.Open), only the tables can judge them.

// reportUnknownPairing reports an extension that stays installed while its framework is replaced. If no row pairs the
// two, the answer is unknown. If a row does, another rule compares the extension with the framework. The extension
// imports its framework, so it has the same open questions.
func reportUnknownPairing(m *model.Machine, b *model.Build) []*rule.Result {
	for _, name := range slices.Sorted(maps.Keys(b.Open)) {
		if name == b.Framework && frameworkListed(m, b) || library.PlanReplacesByNewer(m, b, name) {
			continue
		}
		return rule.ReportUndecided(b.Subject, verdict.Question(fmt.Sprintf("whether it fits %s %s, which it was not installed with: no row of the tables pairs them", name, b.Open[name])))
	}
	torch := m.FrameworkOf(b)
	if torch == nil || torch.Name != b.Framework || len(library.ReportReplacedLibraries(m, torch)) == 0 {
		return nil
	}
	return rule.ReportUndecided(b.Subject, library.ReportReplacedLibraries(m, torch)[0].Missing)
}

// frameworkListed reports whether the tables say which framework an extension was built for.
func frameworkListed(m *model.Machine, b *model.Build) bool {
	torch := m.FrameworkOf(b)
	if torch == nil || torch.Name != "torch" || len(torch.Rows) == 0 {
		return false
	}
	i := slices.IndexFunc(environment.CompareNeighbours(m, torch), func(n environment.Neighbour) bool { return n.Build == b })
	if i < 0 {
		return false
	}
	n := environment.CompareNeighbours(m, torch)[i]
	return n.Fit[fit.Release].State != fit.Unknown && n.Fit[fit.CUDA].State != fit.Unknown && n.Fit[fit.ABI].State != fit.Unknown
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

// reportComingTwin reports a package that the plan overwrites. If the plan brings two with the same modules, nobody
// knows which comes last.
func reportComingTwin(m *model.Machine, b *model.Build) []*rule.Result {
	twin := comingTwin(m, b)
	if b.Planned {
		return rule.ReportUndecided(b.Subject, verdict.Question("which of it and "+twin+" is written last: both have the same files"))
	}
	f := reportOverwritten(b, facts.Hindrance{By: twin, Path: b.Path})
	f.Message = fmt.Sprintf("%s is to be written over %s: Python will import its modules", twin, b.Name)
	f.Evidence = b.Evidence()
	return rule.ReportFinding(f)
}
