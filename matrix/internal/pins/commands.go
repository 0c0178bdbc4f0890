package pins

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// Interpreter returns the path of the environment's own Python, so that pip changes the right environment. It returns
// "" if the path is unknown or unsafe to paste into a shell.
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

// PartOfFile matches the label that replaces a path if a file names several sets of packages that are not installed
// yet.
var PartOfFile = lazyregexp.New(`^(?:extra|group|environment|Python) [^/]+$`)

// Place returns the environment for an installer. Without it, pip would install into whichever environment is active.
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

// InstallStep returns the command for a step: pip's, if there is one.
func InstallStep(e *model.Environment, i pin.Install) pin.Step { return pin.Run(i.Step(Place(e))) }
