package python

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// A plan may leave requirements unmet (facts.Plan.Lacks). METADATA does not say whether an import needs the missing
// package, or accepts the installed release, so the result is neither good nor bad but unknown.

// lacksOf returns the requirements of a distribution, and of what it requires, that a plan leaves unmet. It omits
// requirements that only the plan's text leaves out although the installer resolved them, and a different patch release
// of torch.
func lacksOf(m *model.Machine, name string) (told, untold []facts.Lack) {
	if m.Facts.Plan == nil {
		return nil, nil
	}
	for _, l := range m.Facts.Plan.Lacks {
		switch {
		case l.Of != name, differsInPatch(l):
		case l.Requires != "":
			told = append(told, l)
		case m.Facts.Plan.NoDeps == facts.NoDepsYes || l.By == name && !broughtAlong(m, name):
			untold = append(untold, l)
		}
	}
	return told, untold
}

// differsInPatch reports whether the installed torch or Triton differs from the required one only in its patch version.
// The binary interface is the same within a minor release. Other rules compare extensions with the installed torch, and
// torch with Triton.
func differsInPatch(l facts.Lack) bool {
	name := NamePattern.FindString(l.Requires)
	asked, ok := version.ParseRelease(strings.TrimLeft(l.Requires[len(name):], "= "))
	have, there := version.ParseRelease(l.Have)
	return (name == "torch" || name == "triton") && ok && there && asked.Final() && have.Final() &&
		asked.Local == have.Local && asked.Number.Short() == have.Number.Short()
}

// broughtAlong reports whether a plan shows that a resolver read a package's requirements: the plan also brings what
// every release of the package requires.
func broughtAlong(m *model.Machine, name string) bool {
	needs := map[string]string{"torch": "typing-extensions", "jax": "jaxlib"}[name]
	if needs == "" {
		needs = m.UsesOf(&facts.Requested{Name: name})
	}
	if needs == "gpu" || needs == "either" || needs == "" {
		needs = "numpy"
	}
	_, comes := m.Facts.Plan.Installed(needs)
	return comes
}

// importQuestion returns the open question about a distribution's import after a plan, or "" if there is none.
func importQuestion(m *model.Machine, name string) verdict.MissingFact {
	told, untold := lacksOf(m, name)
	const whether = "whether it can be imported"
	switch {
	case len(told) > 0:
		return verdict.Question(whether + ": " + lackWords(slices.MinFunc(told, tellsMore)) + countFurther(len(told)-1))
	case len(untold) > 0:
		return verdict.Question(whether).Because(verdict.Reason{Kind: "file",
			Words: "the plan does not say what " + requirer(untold[0]) + " requires, as with --no-deps"})
	}
	return verdict.MissingFact{}
}

// tellsMore orders unmet requirements: a framework first, and one that is installed in another release before one that
// is missing.
func tellsMore(a, b facts.Lack) int {
	rank := func(l facts.Lack) int {
		name := NamePattern.FindString(l.Requires)
		switch {
		case model.IsFramework(name):
			return 0
		case model.Helper.MatchString(name):
			return 3
		case l.Have != "":
			return 1
		}
		return 2
	}
	return rank(a) - rank(b)
}

// NamePattern matches the name at the start of a requirement.
var NamePattern = lazyregexp.New(`^[A-Za-z0-9._-]+`)

func lackWords(l facts.Lack) string {
	switch {
	case l.By == "" && l.Have == "":
		return "with what it requires, " + l.Requires + " would be installed, too"
	case l.By == "":
		return "with what it requires, " + l.Requires + " would replace " + l.Have
	case l.Have == "":
		return requirer(l) + " requires " + l.Requires + ", which will be missing"
	}
	return requirer(l) + " requires " + l.Requires + ", and " + l.Have + " will remain installed"
}

// requirer names the package that has the requirement.
func requirer(l facts.Lack) string {
	if l.By == l.Of {
		return "it"
	}
	return "what it requires, " + l.By + ","
}

func countFurther(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and one package more is missing"
	}
	return fmt.Sprintf(", and %d packages more are missing", n)
}

// ReportUnmetNames returns results for CUDA packages that are not judged as builds and whose requirements a plan leaves
// unmet.
func ReportUnmetNames(m *model.Machine) []*rule.Result {
	if m.Facts.Plan == nil {
		return nil
	}
	var results []*rule.Result
	met := map[string]bool{}
	for _, l := range m.Facts.Plan.Lacks {
		built := met[l.Of] || slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Name == l.Of })
		met[l.Of] = true
		if built || !m.Public(l.Of, "") {
			continue
		}
		if missing := importQuestion(m, l.Of); missing.IsMissing() {
			version, _ := m.Facts.Plan.Installed(l.Of)
			subject := strings.TrimSpace(l.Of+" "+version) + model.PlaceOf(&m.Facts.Environments[0])
			results = append(results, rule.ReportOpen(subject, missing)...)
		}
	}
	return results
}
