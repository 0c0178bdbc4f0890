package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// byHidden is why what a fetched script, a Python program, an alias or a make target installs is not known.
const byHidden = "it may install packages, and what it runs was not read"

var (
	// harmlessScript matches the addresses of installers that bring no package for the GPU: of uv, Rust, Node and other tools,
	// and of package managers' repositories.
	harmlessScript = lazyregexp.New(`^https?://(?:astral\.sh|sh\.rustup\.rs|(?:deb|rpm)\.nodesource\.com|get\.(?:docker\.com|pnpm\.io|sdkman\.io|helm\.sh)|` +
		`install\.python-poetry\.org|bootstrap\.pypa\.io|micro\.mamba\.pm|bun\.sh|deno\.land|fnm\.vercel\.app|pyenv\.run|just\.systems|starship\.rs|` +
		`packagecloud\.io|dl\.yarnpkg\.com|aka\.ms|sdk\.cloud\.google\.com|cli\.github\.com|nvidia\.github\.io|download\.docker\.com|` +
		`tailscale\.com|code-server\.dev|raw\.githubusercontent\.com/(?:nvm-sh|pyenv|helm|creationix|Homebrew|ohmyzsh|anchore|aquasecurity)/|` +
		`github\.com/(?:ohmyzsh|zsh-users)/)`)
	webAddress = lazyregexp.New(`^https?://`)
	// installsByPython matches a Python program that starts an installer.
	installsByPython = lazyregexp.New(`\b(?:pip|ensurepip|subprocess|os\.system|os\.popen|conda|uv)\b`)
	// installAlias matches an alias for an installer, "p=pip install".
	installAlias = lazyregexp.New(`^\w+=.*\b(?:pip3?|conda|mamba|uv|python3?)\b`)
	// installTarget matches a target of make that installs packages by its name.
	installTarget = lazyregexp.New(`^(?:\w+[-_])*(?:install|deps|dependencies|setup|requirements|bootstrap|venv|env|develop|init)(?:[-_]\w+)*$`)
)

// fetched notes a script that a command fetches and pipes into a shell or into Python.
func (s *script) fetched(command *syntax.BinaryCmd) {
	left, right := s.wordsOf(command.X), s.wordsOf(command.Y)
	if len(left) == 0 || len(right) == 0 {
		return
	}
	at, name := program(right), path.Base(left[program(left)%len(left)])
	if at == len(right) || name != "curl" && name != "wget" {
		return
	}
	reader := path.Base(right[at])
	if !shellName.MatchString(reader) && !pythonName.MatchString(reader) {
		return
	}
	// With a script of its own, it only reads what is piped: python -c "import json, sys; …".
	for _, word := range right[at+1:] {
		if commandOption.MatchString(word) || reader != "sh" && word == "-m" {
			return
		}
		if word == "-s" || word == "-" || word == "--" {
			break
		}
	}
	i := slices.IndexFunc(left, webAddress.MatchString)
	if i < 0 || harmlessScript.MatchString(left[i]) || ofGPU.MatchString(left[i]) {
		return
	}
	s.unread(left[i]+" | "+reader, byHidden, s.number)
}

// wordsOf returns the words of a simple command, or of the last one of a pipe.
func (s *script) wordsOf(stmt *syntax.Stmt) []string {
	switch command := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return s.words(command.Args)
	case *syntax.BinaryCmd:
		if command.Op == syntax.Pipe {
			return s.wordsOf(command.X)
		}
	}
	return nil
}

// configurers are the programs before a "make install" of sources, which are no Python packages.
var configurers = []string{"configure", "Configure", "config", "cmake", "autogen.sh", "autoreconf", "meson", "bootstrap.sh", "qmake"}

// hiddenInstall names what may install packages out of sight: a Python program below the line, an alias, a target of make.
func hiddenInstall(list []string, input string, configured bool) string {
	at := program(list)
	if at == len(list) {
		return ""
	}
	name, rest := path.Base(list[at]), list[at+1:]
	switch {
	case pythonName.MatchString(name) && installsByPython.MatchString(input) &&
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
