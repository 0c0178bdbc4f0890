package rules

import (
	"cmp"
	"slices"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// namedOnly are packages that need a GPU, or a framework that may, and of which a file says no more than that.
func namedOnly(m *model.Machine) []*Result {
	var results []*Result
	standing := model.StandingOf(m.Tables, m.Facts)
	for _, n := range m.RequestedPackages {
		judged := slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Named == n })
		if !judged && standing(n.Environment) == model.Noted {
			results = append(results, optional(n)...)
			continue
		}
		if unbuilt(m, n) {
			results = append(results, notYetBuilt(n)...)
			continue
		}
		if judged || m.SpokenFor(n) || n.Uses == "unsaid" && judges(m, n.Environment) {
			continue
		}
		results = append(results, unjudgedPackage(m, n)...)
	}
	return results
}

// judges reports whether an environment has a build.
func judges(m *model.Machine, env *facts.Environment) bool {
	return slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Env.Environment == env })
}

// optional names a package for GPUs of a file's extra or group, which is not installed unless it is asked for.
func optional(n *model.RequestedPackage) []*Result {
	if n.Uses != "gpu" || !pins.PartOfFile.MatchString(n.Environment.Path) {
		return nil
	}
	return oneFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing, unless you install " + n.Environment.Path,
		Message:  n.Name + " is not judged: nobody said that " + n.Environment.Path + " is installed",
		Evidence: []verdict.Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
}

// unreadRelease names a release that the tables do not have, of a package of which they have others.
func unreadRelease(n *model.RequestedPackage) []*Result {
	if !n.DoesWithout() {
		return leftOpen(n.Subject(), verdict.Question("which torch it was built for").Because(verdict.TablesReason("do not have this release")))
	}
	return oneFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing",
		Message:  "the tables do not have this release of " + n.Name + ", so it was not looked at; torch works without what it adds",
		Evidence: []verdict.Evidence{{Fact: n.Name, Value: n.Version, From: n.From}}})
}

// unjudgedPackage says what is not known of a package that no rule can judge.
func unjudgedPackage(m *model.Machine, n *model.RequestedPackage) []*Result {
	switch n.Uses {
	case "unsaid":
		return leftOpen("the image in "+n.From, verdict.Question("what is in it: neither its name nor its tag says")) // a name may be private
	case "gpu":
		if n.Origin == "image" {
			return leftOpen(n.Subject(), verdict.Question("which CUDA is in this image: it is for GPUs, but neither its tag nor the tables say more"))
		}
	case "either":
		return oneFinding(verdict.Finding{Severity: verdict.Note, Subject: n.Subject(), Need: "nothing",
			Message:  n.Name + " is the same package with and without a GPU, so it cannot be judged by its name",
			Evidence: []verdict.Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
	case "torch", "jax", "tensorflow":
		if n.NamesFramework(n.Uses) && n.Unlisted {
			return leftOpen(n.Subject(), verdict.Question("which torch it was built for").Because(verdict.TablesReason("do not have this release")))
		}
		if n.NamesFramework(n.Uses) || n.Uses == "torch" && m.BringsTorch(n.Environment) {
			if n.Unread {
				return unreadRelease(n)
			}
			return nil // judged as that framework
		}
		return leftOpen(n.Subject(), verdict.Question("which "+n.Uses+" it brings").Because(verdict.FileReason("does not pin one")))
	case "jit":
		return nil
	}
	if len(n.Rows) > 0 && n.NamesFramework("torch") || n.ForCPU() {
		return nil // judged beside that torch
	}
	if n.Version == "" && n.Origin != "image" {
		return leftOpen(n.Subject(), verdict.Question("which CUDA the package is built for").Because(cmp.Or(model.Unpinned("", n.Specifier), verdict.Unpinned)))
	}
	return leftOpen(n.Subject(), verdict.Question("which CUDA the package is built for (it needs a GPU, and neither its name nor the tables tell)"))
}
