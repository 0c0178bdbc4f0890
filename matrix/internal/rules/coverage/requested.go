package coverage

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// judgeRequested reports on every requested package that no build covers: its name is unknown, it is optional, it will
// be compiled, or something else about it is unknown.
func judgeRequested(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	standing := model.StandingOf(m.Tables, m.Facts)
	for _, n := range m.Requested {
		judged := slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Named == n })
		switch {
		case n.NoWindows != "":
			results = append(results, rule.ReportOpen(n.Subject(), verdict.Statement(n.NoWindows))...)
		case !isRecognised(n):
			results = append(results, reportUnrecognised(n)...)
		case !judged && standing(n.Environment) == model.Noted:
			results = append(results, reportOptional(n)...)
		case environment.IsUnbuilt(m, n):
			results = append(results, reportUnbuilt(n)...)
		case judged, m.SpokenFor(n), n.Uses == "unsaid" && hasBuild(m, n.Environment):
		case hasNoWheelHere(n):
			results = append(results, rule.ReportOpen(n.Subject(), verdict.Question("what it was built for").Because(m.NoWheelHere(n)))...)
		default:
			results = append(results, reportUnjudged(m, n)...)
		}
	}
	return append(results, reportNoWindowsWheels(m)...)
}

// reportNoWindowsWheels names the packages of files that torch or JAX bring along on Linux, and that have no wheel for
// Windows. What a list of installed packages has was built elsewhere.
func reportNoWindowsWheels(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	said := map[string]bool{}
	for _, env := range m.Facts.Environments {
		if env.Path != "" || env.Kind != "requirements" {
			continue
		}
		for _, p := range env.Packages {
			if why := m.NoWindowsWheel(p.Name, p.Version); why != "" && !said[p.Name] {
				said[p.Name] = true
				results = append(results, rule.ReportOpen(strings.TrimSpace(p.Name+" "+p.Version), verdict.Statement(why))...)
			}
		}
	}
	return results
}

func isRecognised(n *model.Requested) bool { return n.Uses != model.Unrecognised }

// reportUnrecognised says why an unknown package was not judged.
func reportUnrecognised(n *model.Requested) []*rule.Result {
	if n.Nearest != "" {
		return rule.ReportOpen(n.Name, verdict.Statement("nothing is known of a package of this name (did you mean "+n.Nearest+"?)"))
	}
	return rule.ReportOpen(n.Name, verdict.Statement("nothing is known of a package of this name, so it was not judged"))
}

// hasBuild reports whether an environment has a build.
func hasBuild(m *model.Machine, env *facts.Environment) bool {
	return slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Env.Environment == env })
}

// reportOptional names a GPU package in an extra or group of a file, which is installed only on request.
func reportOptional(n *model.Requested) []*rule.Result {
	if n.Uses != "gpu" || !pins.PartOfFile.MatchString(n.Environment.Path) {
		return nil
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing, unless you install " + n.Environment.Path,
		Message:  n.Name + " is not judged: nobody said that " + n.Environment.Path + " is installed",
		Evidence: []verdict.Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
}

// reportUnreadRelease names a release that is missing from the tables although they have others of its package.
func reportUnreadRelease(n *model.Requested) []*rule.Result {
	if !n.DoesWithout() {
		return rule.ReportOpen(n.Subject(), verdict.Question("which torch it was built for").Because(verdict.TablesReason("do not have this release")))
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing",
		Message:  "the tables do not have this release of " + n.Name + ", so it was not looked at; torch works without what it adds",
		Evidence: []verdict.Evidence{{Fact: n.Name, Value: n.Version, From: n.From}}})
}

// hasNoWheelHere reports whether a package needs CUDA or a certain torch, and the tables have this release only for
// other platforms. Its rows then say nothing about the wheel that would be installed here. PyTorch's companions are
// judged by the torch that they were released with.
func hasNoWheelHere(n *model.Requested) bool {
	return n.Elsewhere && !n.Companion && !n.DoesWithout() && !n.ForCPU() && n.Uses != "either" && n.Uses != "jit"
}

// reportUnjudged states the open question about a package that no rule can judge.
func reportUnjudged(m *model.Machine, n *model.Requested) []*rule.Result {
	switch n.Uses {
	case "unsaid":
		return rule.ReportOpen("the image in "+n.From, verdict.Question("what is in it: neither its name nor its tag says")) // a name may be private
	case "gpu":
		if n.Origin == "image" {
			return rule.ReportOpen(n.Subject(), verdict.Question("which CUDA is in this image: it is for GPUs, but neither its tag nor the tables say more"))
		}
	case "either":
		return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing",
			Message:  n.Name + " is the same package with and without a GPU, so it cannot be judged by its name",
			Evidence: []verdict.Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
	case "torch", "jax", "tensorflow":
		if n.NamesFramework(n.Uses) && n.Unlisted {
			return rule.ReportOpen(n.Subject(), verdict.Question("which torch it was built for").Because(verdict.TablesReason("do not have this release")))
		}
		if n.NamesFramework(n.Uses) || n.Uses == "torch" && m.BringsTorch(n.Environment) {
			if n.Unread {
				return reportUnreadRelease(n)
			}
			return nil // judged as that framework
		}
		if n.NoDeps {
			return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing",
				Message:  n.Name + " is installed with --no-deps, so it brings no " + n.Uses,
				Evidence: []verdict.Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
		}
		return rule.ReportOpen(n.Subject(), verdict.Question("which "+n.Uses+" it brings").Because(verdict.FileReason("does not pin one")))
	case "jit":
		return nil
	}
	if len(n.Rows) > 0 && n.NamesFramework("torch") || n.ForCPU() {
		return nil // judged beside that torch
	}
	if n.Version == "" && n.Origin != "image" {
		return rule.ReportOpen(n.Subject(), verdict.Question("which CUDA the package is built for").Because(cmp.Or(model.Unpinned("", n.Specifier), verdict.Unpinned)))
	}
	return rule.ReportOpen(n.Subject(), verdict.Question("which CUDA the package is built for (it needs a GPU, and neither its name nor the tables tell)"))
}

// reportUnbuilt states the open question about such a package, and what compiling it requires.
func reportUnbuilt(n *model.Requested) []*rule.Result {
	return rule.ReportOpen(n.Subject(), verdict.Value("for which torch and which GPUs its code will be").Because(verdict.TablesReason(
		"have no wheel of this release: it is compiled when it is installed, which takes nvcc of torch's CUDA, a C++ compiler and up to an hour")))
}
