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
func (e *environment) installStep(i pin.Install) pin.Step { return pin.Run(i.Step(e.place())) }

// pipStart matches the command that a step of the tables begins with.
var pipStart = lazyregexp.New(`^pip (install|uninstall)\b`)

// tabled are the steps of a table's text for this environment: ways with "or" between them, of which those that begin
// with pip are commands.
func (e *environment) tabled(text string) []pin.Step {
	var steps []pin.Step
	for i, way := range strings.Split(text, ", or ") {
		step := pin.Say(way)
		if command := e.asPip(way); command != "" {
			step = pin.Run(command)
		}
		step.Or = i > 0
		steps = append(steps, step)
	}
	return steps
}

// asPip is a table's command of pip for this environment; empty for what is none.
func (e *environment) asPip(text string) string {
	m := pipStart.FindStringSubmatch(text)
	at := e.place()
	switch {
	case m == nil:
		return ""
	case at.Target != "":
		return pin.Command("pip", m[1], "--target", at.Target) + strings.TrimPrefix(text, m[0])
	case at.Python != "":
		return pin.Command(at.Python, "-m", "pip", m[1]) + strings.TrimPrefix(text, m[0])
	}
	return text
}

// unmanaged adds to a rule's results that a distribution keeps pip out of its Python, where a pin is for that one.
func (e *environment) unmanaged(results []*result) []*result {
	if e.interpreter() == "" || e.Managed == "" {
		return results
	}
	for _, r := range results {
		if r.finding != nil && slices.ContainsFunc(r.finding.Pins, func(p Pin) bool { return p.Commands["pip"] != "" }) {
			r.finding.Steps = append(r.finding.Steps, pin.Say("install into a venv (python3 -m venv), or ask apt or dnf for the package: "+
				"the distribution manages this Python ("+pin.Word(e.Managed)+", PEP 668), so pip refuses to install into it").Instead())
		}
	}
	return results
}
