package matrix

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
)

var (
	pipCommand = lazyregexp.New(`(^|&& )pip (install|uninstall)\b`)
	uvCommand  = lazyregexp.New(`(^|&& )uv pip (install|uninstall)\b`)
)

// interpreter is the environment's own, as a shell takes it, through which pip cannot miss it; empty for one that no
// path tells, or whose path nobody should paste into a shell.
func (e *environment) interpreter() string {
	switch {
	case e.Path == "" || partOfFile.MatchString(e.Path) || strings.ContainsFunc(e.Path, unicode.IsControl) ||
		!utf8.ValidString(e.Path):
		return ""
	case e.Kind == "user":
		return "python3"
	case e.Kind == "system":
		return quoted(strings.TrimSuffix(e.Path, "/") + "/bin/python3")
	}
	return quoted(e.Path + "/bin/python")
}

// partOfFile matches what stands for a path where a file names several sets of packages, which are nowhere yet.
var partOfFile = lazyregexp.New(`^(?:extra|group|environment|Python) [^/]+$`)

var plainPath = lazyregexp.New(`^[\w./+@:,=-]+$`)

// quoted is a path as one word of a shell's.
func quoted(name string) string {
	if plainPath.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// addressed is a rule's results with commands that name the environment.
func (e *environment) addressed(results []*result) []*result {
	for _, r := range results {
		if r.finding != nil {
			e.address(r.finding)
		}
	}
	return results
}

// address makes the commands of a finding name the environment that they are for: a bare pip installs into whichever
// environment is active. Where the environment has no pip, as uv makes them, only uv's command is left.
func (e *environment) address(f *Finding) {
	python := e.interpreter()
	if python == "" || e.Environment == nil {
		return
	}
	for i := range f.Do {
		f.Do[i] = e.pip(f.Do[i])
	}
	touched := false
	for _, pin := range f.Pins {
		if pip, ok := pin.Commands["pip"]; ok {
			pin.Commands["pip"], touched = e.pip(pip), true
		}
		if uv, ok := pin.Commands["uv"]; ok {
			pin.Commands["uv"] = e.uv(uv)
			if e.NoPip {
				delete(pin.Commands, "pip")
			}
		}
	}
	if touched && e.Managed != "" {
		f.Do = append(f.Do, "the distribution manages this Python ("+e.Managed+
			", PEP 668), so pip refuses to install into it: "+
			"install into a venv (python3 -m venv), or ask apt or dnf for the package")
	}
}

func (e *environment) pip(command string) string {
	if e.Kind == "target" {
		return around(pipCommand, command, "pip ", " --target "+quoted(e.Path))
	}
	return around(pipCommand, command, e.interpreter()+" -m pip ", "")
}

func (e *environment) uv(command string) string {
	if e.Kind == "target" {
		return around(uvCommand, command, "uv pip ", " --target "+quoted(e.Path))
	}
	return around(uvCommand, command, "uv pip ", " --python "+e.interpreter())
}

// around puts text before and after the verb of every match.
func around(pattern *lazyregexp.Regexp, command, before, after string) string {
	literal := func(text string) string { return strings.ReplaceAll(text, "$", "$$") }
	return pattern.ReplaceAllString(command, "${1}"+literal(before)+"${2}"+literal(after))
}
