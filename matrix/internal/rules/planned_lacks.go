package rules

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// What a plan leaves open of the requirements (facts.Plan.Lacks): whether an import needs what is missing, or takes the
// release that is there, METADATA does not tell, so it is neither called fine nor broken.

// lacksOf returns the requirements of a distribution, and of those that it requires, that a plan leaves open. Those
// that its words alone leave open, and that what comes shows to have been looked at, are none; nor is another patch of
// torch.
func lacksOf(m *model.Machine, name string) (told, untold []facts.Lack) {
	if m.Facts.Plan == nil {
		return nil, nil
	}
	for _, l := range m.Facts.Plan.Lacks {
		switch {
		case l.Of != name, patched(l):
		case l.Requires != "":
			told = append(told, l)
		case m.Facts.Plan.NoDeps == facts.NoDepsYes || l.By == name && !broughtAlong(m, name):
			untold = append(untold, l)
		}
	}
	return told, untold
}

// patched reports whether what is there is another patch of the torch, or of the Triton, that is asked for: within a minor
// release the binary interface is one, and the rules that compare an extension with its torch, and torch with its Triton,
// look at the release that is there.
func patched(l facts.Lack) bool {
	name := nameText.FindString(l.Requires)
	asked, ok := version.ParseRelease(strings.TrimLeft(l.Requires[len(name):], "= "))
	have, there := version.ParseRelease(l.Have)
	return (name == "torch" || name == "triton") && ok && there && asked.Final() && have.Final() &&
		asked.Local == have.Local && asked.Number.Short() == have.Number.Short()
}

// broughtAlong reports whether a plan shows that a resolver saw what a package requires: what every release of it
// requires comes with it.
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

// imports returns what nobody can say of the import of a distribution for what a plan leaves open; empty where it
// leaves nothing open.
func imports(m *model.Machine, name string) verdict.MissingFact {
	told, untold := lacksOf(m, name)
	const whether = "whether it can be imported"
	switch {
	case len(told) > 0:
		return verdict.Question(whether + ": " + lackWords(slices.MinFunc(told, tellsMore)) + andMore(len(told)-1))
	case len(untold) > 0:
		return verdict.Question(whether).Because(verdict.Reason{Kind: "file",
			Words: "the plan does not say what " + requirer(untold[0]) + " requires, as with --no-deps"})
	}
	return verdict.MissingFact{}
}

// tellsMore puts a framework first, and what is there in another release before what is not.
func tellsMore(a, b facts.Lack) int {
	rank := func(l facts.Lack) int {
		name := nameText.FindString(l.Requires)
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

// nameText matches the name that a requirement begins with.
var nameText = lazyregexp.New(`^[A-Za-z0-9._-]+`)

func lackWords(l facts.Lack) string {
	switch {
	case l.By == "" && l.Have == "":
		return "with what it requires, " + l.Requires + " would be installed, too"
	case l.By == "":
		return "with what it requires, " + l.Requires + " would replace " + l.Have
	case l.Have == "":
		return requirer(l) + " requires " + l.Requires + ", which is not to be there"
	}
	return requirer(l) + " requires " + l.Requires + ", and " + l.Have + " is to be there"
}

// requirer names the one that requires something.
func requirer(l facts.Lack) string {
	if l.By == l.Of {
		return "it"
	}
	return "what it requires, " + l.By + ","
}

func andMore(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and one package more is missing"
	}
	return fmt.Sprintf(", and %d packages more are missing", n)
}

// lackingNames returns the packages for CUDA, not judged as builds, of whose requirements a plan leaves some open.
func lackingNames(m *model.Machine) []*Result {
	if m.Facts.Plan == nil {
		return nil
	}
	var results []*Result
	met := map[string]bool{}
	for _, l := range m.Facts.Plan.Lacks {
		built := met[l.Of] || slices.ContainsFunc(m.Builds, func(b *model.Build) bool { return b.Name == l.Of })
		met[l.Of] = true
		if built || !m.Public(l.Of, "") {
			continue
		}
		if missing := imports(m, l.Of); missing.IsMissing() {
			version, _ := m.Facts.Plan.Installed(l.Of)
			subject := strings.TrimSpace(l.Of+" "+version) + model.PlaceOf(&m.Facts.Environments[0])
			results = append(results, leftOpen(subject, missing)...)
		}
	}
	return results
}
