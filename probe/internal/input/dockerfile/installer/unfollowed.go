package installer

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

const installerNames = `pip3?(?:\.\d+)?|uv|conda|mamba|micromamba|poetry|pdm|pipx|easy_install(?:-[\d.]+)?|rye|pixi|conda[-_]lock|ltt|light[-_]the[-_]torch`

// ByUnfollowed is why what an unusual command of an installer installs is not known.
const ByUnfollowed = "it may install packages, and this form of the command is not followed"

var (
	InstallerName = lazyregexp.New(`^(?:` + installerNames + `)(?:\.pyz)?$`)
	// installText matches an installer with its first word and a word that installs, within one command of a text.
	installText = lazyregexp.New("(?:^|[\\s/\"'`(=;&|\\[])(?:" + installerNames + "|easy_install\\s+\\w)(?:\\.pyz)?[\"']?[\\s,]+" +
		"((?:[^\\s;&|]+[\\s,]+)*?)[\"']?(?:install|sync|add|create|inject|update|upgrade)(?:[\\s\"',)\\]`]|$)|(?:^|\\s)easy_install\\s+\\w")
	// NamedBuild matches a word that asks for a release of a package of which the builds differ.
	NamedBuild = lazyregexp.New(`(?i)^(?:torch|jax|jaxlib|tensorflow(?:-gpu)?|cupy(?:-cuda\d+x?)?|vllm|xformers|flash[-_]attn|` +
		`onnxruntime-gpu|paddlepaddle-gpu)(?:\[[^\]]*\])?\s*(?:===?|~=|>=|@)\s*\S`)
	// notPackages matches the first words of an installer after which "install" and "add" bring no package.
	notPackages = lazyregexp.New(`^(?:python|self|config|cache|plugin|source|toolchain)\s`)
	// PythonText matches a Python program that calls an installer.
	PythonText = lazyregexp.New(`(?s)\b(?:pip|conda|mamba|uv|poetry|pdm)\b.*\b(?:install|sync|add|create|main|run_module)\b|\beasy_install\b`)
	// IndexDecides matches packages of which each index has builds of its own for a release of CUDA.
	IndexDecides = lazyregexp.New(`^(?:torch|jax|tensorflow|cupy|nvidia-|vllm|xformers|flash|onnxruntime|paddle|mxnet|dgl|llama)`)
)

// harmlessVerbs are the first words of installers that bring no package into the image.
var harmlessVerbs = []string{"help", "list", "show", "freeze", "check", "cache", "config", "uninstall", "remove", "debug",
	"download", "wheel", "search", "index", "hash", "inspect", "completion", "completions", "lock", "version", "self",
	"self-update", "venv", "python", "export", "tree", "init", "build", "publish", "auth", "info", "clean", "activate",
	"deactivate", "env", "shell", "shell.bash", "shell-hook", "hook", "tos", "doctor", "notices", "rename", "about", "source",
	"use", "plugin", "ensurepath", "environment", "task", "project", "workspace", "generate-shell-completion", "pin",
	"toolchain", "fetch", "compile", "render", "new", "dir", "update-shell"}

// printers are programs that only fetch or print what their words say.
var printers = []string{"echo", "printf", "curl", "wget", "install", "find", "alias"}

// FindUnfollowed returns the part of a command that may install packages in a form that Find does not read.
func FindUnfollowed(list []string) string {
	at := FindProgram(list)
	if at == len(list) {
		return ""
	}
	name := path.Base(list[at])
	if systemName.MatchString(name) || slices.Contains(startNothing, name) || slices.Contains(printers, name) {
		return ""
	}
	if mayInstallBy(name, list[at+1:]) {
		return strings.Join(list[at:], " ")
	}
	python := PythonName.MatchString(name)
	for i, word := range list {
		switch {
		case python && i > at && (list[i-1] == "-m" || i == at+1) && mayInstallBy(path.Base(word), list[i+1:]),
			python && i > at && CommandOption.MatchString(list[i-1]) && PythonText.MatchString(word):
			return strings.Join(list[at:], " ")
		case strings.ContainsAny(word, " \t\n") && HasInstall(word):
			return word
		}
	}
	if !InstallerName.MatchString(name) && !PipName.MatchString(name) && !CondaName.MatchString(name) &&
		slices.ContainsFunc(list[at+1:], NamedBuild.MatchString) {
		return strings.Join(list[at:], " ")
	}
	if text := strings.Join(list[at:], " "); !python && !InstallerName.MatchString(name) && HasInstall(text) {
		return text
	}
	return ""
}

// mayInstallBy reports whether an installer that is started with these words may install packages.
func mayInstallBy(name string, rest []string) bool {
	if !InstallerName.MatchString(name) && !PipName.MatchString(name) && !CondaName.MatchString(name) {
		return false
	}
	word, args := "", []string(nil)
	for i := 0; i < len(rest) && word == ""; i++ {
		switch {
		case slices.Contains(PipValues, rest[i]), slices.Contains(UvValues, rest[i]):
			i++
		case !strings.HasPrefix(rest[i], "-"):
			word, args = rest[i], rest[i+1:]
		}
	}
	switch {
	case word == "" || strings.HasPrefix(word, "$"):
		return false
	case strings.HasPrefix(name, "easy_install"):
		return word != "pip"
	case name == "uv" && (word == "pip" || word == "tool"):
		return mayInstallBy("uv "+word, args) || len(args) > 0 && !slices.Contains(harmlessVerbs, firstWord(args))
	case CondaName.MatchString(name) && (word == "update" || word == "upgrade"):
		return slices.ContainsFunc(args, func(w string) bool {
			return IndexDecides.MatchString(w) || strings.Contains(w, "torch")
		})
	case word == "run":
		return name == "pixi" || name == "pipx"
	}
	return !slices.Contains(harmlessVerbs, word)
}

// firstWord returns the first word that is no option, or "help" where there is none.
func firstWord(list []string) string {
	if word, _ := verb(list); word != "" {
		return word
	}
	return "help"
}

// HasInstall reports whether a text has a command of an installer that installs packages.
func HasInstall(text string) bool {
	for _, m := range installText.FindAllStringSubmatch(text, -1) {
		if !notPackages.MatchString(m[1]) {
			return true
		}
	}
	return false
}
