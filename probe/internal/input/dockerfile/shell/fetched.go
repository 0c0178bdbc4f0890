package shell

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/installer"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessScript matches the addresses of installers that bring no package for the GPU: of uv, Rust, Node and other tools,
// and of package managers' repositories.
var harmlessScript = lazyregexp.New(`^https?://(?:astral\.sh|sh\.rustup\.rs|(?:deb|rpm)\.nodesource\.com|get\.(?:docker\.com|pnpm\.io|sdkman\.io|helm\.sh)|` +
	`install\.python-poetry\.org|bootstrap\.pypa\.io|micro\.mamba\.pm|bun\.sh|deno\.land|fnm\.vercel\.app|pyenv\.run|just\.systems|starship\.rs|` +
	`packagecloud\.io|dl\.yarnpkg\.com|aka\.ms|sdk\.cloud\.google\.com|cli\.github\.com|nvidia\.github\.io|download\.docker\.com|` +
	`tailscale\.com|code-server\.dev|raw\.githubusercontent\.com/(?:nvm-sh|pyenv|helm|creationix|Homebrew|ohmyzsh|anchore|aquasecurity)/|` +
	`github\.com/(?:ohmyzsh|zsh-users)/)`)

// fetched notes a script that a command fetches and pipes into a shell or into Python, and any other output that a shell reads.
func (s *script) fetched(command *syntax.BinaryCmd) {
	left, right := s.wordsOf(command.X), s.wordsOf(command.Y)
	if len(left) == 0 || len(right) == 0 {
		return
	}
	at, name := installer.FindProgram(right), path.Base(left[installer.FindProgram(left)%len(left)])
	if at == len(right) {
		return
	}
	if name != "curl" && name != "wget" {
		if isPlainShell(right) {
			s.Unread(strings.Join(left, " ")+" | "+path.Base(right[at]), installer.ByHidden, s.number)
		}
		return
	}
	reader := path.Base(right[at])
	if !installer.ShellName.MatchString(reader) && !installer.PythonName.MatchString(reader) {
		return
	}
	// With a script of its own, it only reads what is piped: python -c "import json, sys; …".
	for _, word := range right[at+1:] {
		if installer.CommandOption.MatchString(word) || reader != "sh" && word == "-m" {
			return
		}
		if word == "-s" || word == "-" || word == "--" {
			break
		}
	}
	i := slices.IndexFunc(left, installer.WebAddress.MatchString)
	if i < 0 || harmlessScript.MatchString(left[i]) || installer.GPUScript.MatchString(left[i]) {
		return
	}
	s.Unread(left[i]+" | "+reader, installer.ByHidden, s.number)
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
