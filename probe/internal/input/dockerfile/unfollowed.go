package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// Why what an installer does is not known.
const (
	byUnfollowed = "it may install packages, and this form of the command is not followed"
	byDepth      = "it may install packages, and functions that call one another this deeply are not followed"
	byConfig     = "it may choose another index or other releases, and it was not read"
)

const installerNames = `pip3?(?:\.\d+)?|uv|conda|mamba|micromamba|poetry|pdm|pipx|easy_install(?:-[\d.]+)?|rye|pixi|conda[-_]lock|ltt|light[-_]the[-_]torch`

var (
	installerName = lazyregexp.New(`^(?:` + installerNames + `)(?:\.pyz)?$`)
	// installText matches an installer with its first word and a word that installs, within one command of a text.
	installText = lazyregexp.New("(?:^|[\\s/\"'`(=;&|\\[])(?:" + installerNames + "|easy_install\\s+\\w)(?:\\.pyz)?[\"']?[\\s,]+" +
		"((?:[^\\s;&|]+[\\s,]+)*?)[\"']?(?:install|sync|add|create|inject|update|upgrade)(?:[\\s\"',)\\]`]|$)|(?:^|\\s)easy_install\\s+\\w")
	// namedBuild matches a word that asks for a release of a package of which the builds differ.
	namedBuild = lazyregexp.New(`(?i)^(?:torch|jax|jaxlib|tensorflow(?:-gpu)?|cupy(?:-cuda\d+x?)?|vllm|xformers|flash[-_]attn|` +
		`onnxruntime-gpu|paddlepaddle-gpu)(?:\[[^\]]*\])?\s*(?:===?|~=|>=|@)\s*\S`)
	// notPackages matches the first words of an installer after which "install" and "add" bring no package.
	notPackages = lazyregexp.New(`^(?:python|self|config|cache|plugin|source|toolchain)\s`)
	// pythonText matches a Python program that calls an installer.
	pythonText = lazyregexp.New(`(?s)\b(?:pip|conda|mamba|uv|poetry|pdm)\b.*\b(?:install|sync|add|create|main|run_module)\b|\beasy_install\b`)
	// indexDecides matches packages of which each index has builds of its own for a release of CUDA.
	indexDecides = lazyregexp.New(`^(?:torch|jax|tensorflow|cupy|nvidia-|vllm|xformers|flash|onnxruntime|paddle|mxnet|dgl|llama)`)
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

// unfollowedInstall returns the part of a command that may install packages in a form that toolOf does not read.
func unfollowedInstall(list []string) string {
	at := program(list)
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
	python := pythonName.MatchString(name)
	for i, word := range list {
		switch {
		case python && i > at && (list[i-1] == "-m" || i == at+1) && mayInstallBy(path.Base(word), list[i+1:]),
			python && i > at && commandOption.MatchString(list[i-1]) && pythonText.MatchString(word):
			return strings.Join(list[at:], " ")
		case strings.ContainsAny(word, " \t\n") && textInstalls(word):
			return word
		}
	}
	if !installerName.MatchString(name) && !pipName.MatchString(name) && !condaName.MatchString(name) &&
		slices.ContainsFunc(list[at+1:], namedBuild.MatchString) {
		return strings.Join(list[at:], " ")
	}
	if text := strings.Join(list[at:], " "); !python && !installerName.MatchString(name) && textInstalls(text) {
		return text
	}
	return ""
}

// mayInstallBy reports whether an installer that is started with these words may install packages.
func mayInstallBy(name string, rest []string) bool {
	if !installerName.MatchString(name) && !pipName.MatchString(name) && !condaName.MatchString(name) {
		return false
	}
	word, args := "", []string(nil)
	for i := 0; i < len(rest) && word == ""; i++ {
		switch {
		case slices.Contains(pipValues, rest[i]), slices.Contains(uvValues, rest[i]):
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
	case condaName.MatchString(name) && (word == "update" || word == "upgrade"):
		return slices.ContainsFunc(args, func(w string) bool {
			return indexDecides.MatchString(w) || strings.Contains(w, "torch")
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

// textInstalls reports whether a text has a command of an installer that installs packages.
func textInstalls(text string) bool {
	for _, m := range installText.FindAllStringSubmatch(text, -1) {
		if !notPackages.MatchString(m[1]) {
			return true
		}
	}
	return false
}

// noteSubstitutions names the substitutions of a script that install packages: x=$(pip install torch).
func (f *dockerfile) noteSubstitutions(file *syntax.File, text string, number int) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			from, to := int(node.Pos().Offset()), int(node.End().Offset())
			if from <= to && to <= len(text) && textInstalls(text[from:to]) {
				f.unread(text[from:to], byUnfollowed, number)
				return false
			}
		}
		return true
	})
}

// configFiles are the variables that name files which change what pip and uv install.
var configFiles = []string{"UV_OVERRIDE", "UV_CONFIG_FILE", "PIP_CONFIG_FILE"}

// configure keeps the index that "pip config set global.index-url" names, as the variable of the same meaning does.
func (f *dockerfile) configure(list []string) {
	i := slices.Index(list, "config")
	if i < 1 || !pipName.MatchString(path.Base(list[i-1])) {
		return
	}
	words := slices.DeleteFunc(slices.Clone(list[i+1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) < 3 || words[0] != "set" {
		return
	}
	_, key, _ := strings.Cut(strings.ReplaceAll(words[1], "_", "-"), ".")
	if slices.Contains([]string{"index-url", "extra-index-url", "find-links", "constraint", "requirement"}, key) {
		f.values["PIP_"+strings.ToUpper(strings.ReplaceAll(key, "-", "_"))] = valueOf(words[2])
	}
}
