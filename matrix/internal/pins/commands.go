package pins

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// Interpreter returns the environment's own, through which pip cannot miss it; empty for one that no path tells, or
// whose path nobody should paste into a shell.
func Interpreter(e *model.Environment) string {
	switch {
	case e.Environment == nil || e.Path == "" || PartOfFile.MatchString(e.Path) ||
		strings.ContainsFunc(e.Path, unicode.IsControl) || !utf8.ValidString(e.Path):
		return ""
	case e.Kind == "user":
		return "python3"
	case e.Kind == "system":
		return pin.File(strings.TrimSuffix(e.Path, "/") + "/bin/python3")
	}
	return pin.File(e.Path + "/bin/python")
}

// PartOfFile matches what stands for a path where a file names several sets of packages, which are nowhere yet.
var PartOfFile = lazyregexp.New(`^(?:extra|group|environment|Python) [^/]+$`)

// Place returns the environment for an installer: a bare pip installs into whichever environment is active.
func Place(e *model.Environment) pin.Place {
	python := Interpreter(e)
	if python == "" {
		return pin.Place{}
	}
	if e.Kind == "target" {
		return pin.Place{Target: pin.File(e.Path), NoPip: e.NoPip}
	}
	return pin.Place{Python: python, NoPip: e.NoPip}
}

// Install returns the commands that change the environment.
func Install(e *model.Environment, i pin.Install) map[string]string { return i.Commands(Place(e)) }

// InstallStep returns the one of them for a step: pip's where there is one.
func InstallStep(e *model.Environment, i pin.Install) pin.Step { return pin.Run(i.Step(Place(e))) }
