package matrix

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
	"cudacompat/pin"
)

// interpreter is the environment's own, through which pip cannot miss it; empty for one that no path tells, or whose path
// nobody should paste into a shell.
func (e *environment) interpreter() string {
	switch {
	case e.Environment == nil || e.Path == "" || partOfFile.MatchString(e.Path) ||
		strings.ContainsFunc(e.Path, unicode.IsControl) || !utf8.ValidString(e.Path):
		return ""
	case e.Kind == "user":
		return "python3"
	case e.Kind == "system":
		return pin.File(strings.TrimSuffix(e.Path, "/") + "/bin/python3")
	}
	return pin.File(e.Path + "/bin/python")
}

// partOfFile matches what stands for a path where a file names several sets of packages, which are nowhere yet.
var partOfFile = lazyregexp.New(`^(?:extra|group|environment|Python) [^/]+$`)

// place is the environment for an installer: a bare pip installs into whichever environment is active.
func (e *environment) place() pin.Place {
	python := e.interpreter()
	if python == "" {
		return pin.Place{}
	}
	if e.Kind == "target" {
		return pin.Place{Target: pin.File(e.Path), NoPip: e.NoPip}
	}
	return pin.Place{Python: python, NoPip: e.NoPip}
}

// install are the commands that change the environment.
func (e *environment) install(i pin.Install) map[string]string { return i.Commands(e.place()) }

// installStep is the one of them for a step: pip's where there is one.
func (e *environment) installStep(i pin.Install) string { return i.Step(e.place()) }

// pipStart matches the command that a step of the tables begins with.
var pipStart = lazyregexp.New(`^pip (install|uninstall)\b`)

// tabled is a step as a table has it, for this environment.
func (e *environment) tabled(step string) string {
	m := pipStart.FindStringSubmatch(step)
	at := e.place()
	switch {
	case m == nil:
		return step
	case at.Target != "":
		return pin.Command("pip", m[1], "--target", at.Target) + strings.TrimPrefix(step, m[0])
	case at.Python != "":
		return pin.Command(at.Python, "-m", "pip", m[1]) + strings.TrimPrefix(step, m[0])
	}
	return step
}

// unmanaged adds to a rule's results that a distribution keeps pip out of its Python, where a pin is for that one.
func (e *environment) unmanaged(results []*result) []*result {
	if e.interpreter() == "" || e.Managed == "" {
		return results
	}
	for _, r := range results {
		if r.finding != nil && slices.ContainsFunc(r.finding.Pins, func(p Pin) bool { return p.Commands["pip"] != "" }) {
			r.finding.Do = append(r.finding.Do, "the distribution manages this Python ("+pin.Word(e.Managed)+
				", PEP 668), so pip refuses to install into it: install into a venv (python3 -m venv), or ask apt or dnf for the package")
		}
	}
	return results
}
