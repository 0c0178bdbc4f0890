package guard

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/verdict"
)

// maxTried limits the alternatives that are tried, because each costs a dry run.
const maxTried = 3

// Candidates returns alternatives to a command that breaks something: the same with the pins for what it breaks, and
// the same with the installed releases kept. Each must still pass its own dry run.
func Candidates(c Command, f Forecast) [][]string {
	var list [][]string
	add := func(argv []string) {
		if argv != nil && len(list) < maxTried && !slices.ContainsFunc(list, func(o []string) bool { return slices.Equal(o, argv) }) {
			list = append(list, argv)
		}
	}
	if c.Verb != "install" {
		return nil
	}
	for _, finding := range f.Breaks {
		for _, pin := range finding.Pins {
			specs, index := pinRequirements(pin)
			add(c.with(plainSpecs(specs), ""))
			add(c.with(specs, index))
		}
	}
	add(c.with(releasesToKeep(f), ""))
	return list
}

// specText matches one requirement of a pin's command, quotes taken off.
var specText = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?(==|>=|<=|~=|!=|<|>)\S+$`)

// pinRequirements returns the requirements and the index of a pin's command: of the last one, which installs.
func pinRequirements(p verdict.Pin) (specs []string, index string) {
	command := p.Commands["uv"]
	if at := strings.LastIndex(command, "&& "); at >= 0 {
		command = command[at+3:]
	}
	words := strings.Fields(command)
	for i, word := range words {
		word = strings.Trim(word, `"'`)
		switch {
		case word == "--index-url" && i+1 < len(words):
			index = words[i+1]
		case specText.MatchString(word):
			specs = append(specs, word)
		}
	}
	return specs, index
}

// plainSpecs returns requirements without local versions, which the installer's own index does not have.
func plainSpecs(specs []string) []string {
	var list []string
	for _, s := range specs {
		s, _, _ = strings.Cut(s, "+")
		list = append(list, s)
	}
	return list
}

// releasesToKeep returns the releases of what works now and would be replaced.
func releasesToKeep(f Forecast) []string {
	var list []string
	for _, c := range f.Changes {
		if c.From != "" && c.To != "" && c.From != c.To && c.Was != verdict.Broken {
			public, _, _ := strings.Cut(c.From, "+")
			list = append(list, c.Build+"=="+public)
		}
	}
	return list
}

// with returns the command with specs added, replacing requirements for the same packages. It returns nil if it has no
// requirements.
func (c Command) with(specs []string, index string) []string {
	if len(specs) == 0 {
		return nil
	}
	argv := slices.Clone(c.Argv)
	for _, spec := range specs {
		at := slices.IndexFunc(c.words(), func(at int) bool { return packageName(argv[at]) == packageName(spec) })
		if at >= 0 {
			argv[c.words()[at]] = keepExtras(argv[c.words()[at]], spec)
		} else {
			argv = append(argv, spec)
		}
	}
	if index != "" {
		argv = append(argv, "--extra-index-url", index)
	}
	return argv
}

var nameText = lazyregexp.New(`^[A-Za-z0-9._-]*[A-Za-z0-9]`)

// packageName returns the normalised name that a requirement begins with.
func packageName(spec string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(nameText.FindString(spec)))
}

var extrasText = lazyregexp.New(`^[A-Za-z0-9._-]+(\[[^\]]*\])`)

// keepExtras returns a pinned requirement with the extras that were typed.
func keepExtras(typed, spec string) string {
	m := extrasText.FindStringSubmatch(typed)
	if m == nil || strings.Contains(spec, "[") {
		return spec
	}
	name := nameText.FindString(spec)
	return name + m[1] + spec[len(name):]
}
