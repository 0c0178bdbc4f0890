package installer

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// ByHidden is why what a fetched script, a Python program, an alias or a make target installs is not known.
const ByHidden = "it may install packages, and what it runs was not read"

var (
	// WebAddress matches an address of the web.
	WebAddress = lazyregexp.New(`^https?://`)
	// installsByPython matches a Python program that starts an installer.
	installsByPython = lazyregexp.New(`\b(?:pip|ensurepip|subprocess|os\.system|os\.popen|conda|uv)\b`)
	// installAlias matches an alias for an installer, "p=pip install".
	installAlias = lazyregexp.New(`^\w+=.*\b(?:pip3?|conda|mamba|uv|python3?)\b`)
	// installTarget matches a target of make that installs packages by its name.
	installTarget = lazyregexp.New(`^(?:\w+[-_])*(?:install|deps|dependencies|setup|requirements|bootstrap|venv|env|develop|init)(?:[-_]\w+)*$`)
)

// Configurers are the programs before a "make install" of sources, which are no Python packages.
var Configurers = []string{"configure", "Configure", "config", "cmake", "autogen.sh", "autoreconf", "meson", "bootstrap.sh", "qmake"}

// StartsInstaller reports whether a Python program starts another program or an installer.
func StartsInstaller(text string) bool { return installsByPython.MatchString(text) }

// FindHidden names what may install packages out of sight: a Python program below the line, an alias, a target of make.
func FindHidden(list []string, input string, configured bool) string {
	at := FindProgram(list)
	if at == len(list) {
		return ""
	}
	name, rest := path.Base(list[at]), list[at+1:]
	switch {
	case PythonName.MatchString(name) && installsByPython.MatchString(input) &&
		!slices.ContainsFunc(rest, func(word string) bool { return word != "-" && !strings.HasPrefix(word, "-") }):
		return "the program for " + name
	case name == "alias" && slices.ContainsFunc(rest, installAlias.MatchString):
		return strings.Join(list, " ")
	case name == "jupyter" && slices.Contains(rest, "--execute"), name == "papermill", (name == "tox" || name == "nox"),
		name == "hatch" && slices.ContainsFunc(rest, func(word string) bool { return word == "env" || word == "run" || word == "shell" }):
		return strings.Join(list[at:], " ")
	case slices.Contains([]string{"make", "gmake", "just", "task", "invoke", "inv"}, name) && slices.ContainsFunc(rest, func(word string) bool {
		return installTarget.MatchString(word) && !(configured && word == "install")
	}):
		return strings.Join(list[at:], " ")
	}
	return ""
}
