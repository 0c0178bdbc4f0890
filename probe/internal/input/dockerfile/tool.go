package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/input/uvlock"
)

// tool is what one command of a Dockerfile starts to install something.
type tool struct {
	does    deed
	args    []string // what it is given
	command string   // the command, as a report names it
	reason  string   // why what it installs is not known
	by      string   // the program whose own files say what is installed: uv, poetry, conda
	apart   bool     // into an environment of its own
}

// deed is what a tool does to an image.
type deed int

const (
	nothing          deed = iota
	installs              // packages that its words, or files that they name, say
	removes               // packages
	addsByConda           // packages of conda
	installsFromFile      // what only another file says
	mayInstall            // what nobody knows: a script of the project
	compiles              // sources
	bringsToolkit         // CUDA's, to compile with
)

// Why what a command installs is not known.
const (
	inAnotherFile = "its packages are in another file: check that one, too, or give the build context with --include-root"
	byScript      = "the file itself installs no package, and what this script installs was not read"
	byDownload    = "the file itself installs no package, and what is in this archive was not read"
	bySources     = "what it compiles was not read"
	byDistro      = "no table has the builds of a distribution"
)

// The names by which tools are started, of any directory and release. A variable tells by its own name what it holds
// where the file does not set it ($PIP install, ${MICROMAMBA_BIN} create).
var (
	pipName       = lazyregexp.New(`^(?:pip3?(?:\.\d+)?|\$\{?\w*(?:PIP|pip)\w*\}?)$`)
	pythonName    = lazyregexp.New(`^(?:python3?(?:\.\d+)?|pypy3?|\$\{?\w*(?:PYTHON|PY|python)\w*\}?)$`)
	condaName     = lazyregexp.New(`^(?:conda|mamba|micromamba|\$\{?\w*(?:CONDA|MAMBA|conda|mamba)\w*\}?)$`)
	shellName     = lazyregexp.New(`^(?:ba|da|z|a|k)?sh$|^(?:su|runuser)$`)
	systemName    = lazyregexp.New(`^(?:apt|apt-get|aptitude|yum|dnf|microdnf|tdnf|zypper|apk|pacman)$`)
	scriptName    = lazyregexp.New(`^(?:\./[\w./-]+|[\w./-]+\.(?:sh|bash))$`)
	pyScript      = lazyregexp.New(`^(?:[\w.-]+/)*(?:\w*install\w*|launch|bootstrap)\.py$`)
	commandOption = lazyregexp.New(`^-\w*c$`) // the option of a shell before the commands that it is given
	ofGPU         = lazyregexp.New(`(?i)https?://\S*(?:ollama|cuda|nvidia|vllm)\S*\.sh\b`)
	distroCUDA    = lazyregexp.New(`^(?:nvidia-cuda-toolkit|cuda(?:-toolkit|-nvcc|-compiler|-libraries-dev)?(?:-\d+)*)` +
		`(?:=|$)`)
	distroGPU = lazyregexp.New(`^python3?\d*-(?:torch|pytorch|tensorflow|jax|cupy|pycuda)\b`)
)

// toolOf returns the tool that a command starts, whatever starts it (sudo, env A=b, conda run -n x). What installs
// Python packages is found behind a wrapper of any name; what else there is only where a command's own name stands.
func toolOf(list []string) tool {
	at := program(list)
	if at == len(list) {
		return tool{}
	}
	switch name := path.Base(list[at]); {
	case systemName.MatchString(name):
		return systemTool(list[at+1:]).saying(list[at:])
	case slices.Contains(startNothing, name):
		return tool{}
	}
	for i, word := range list {
		for _, read := range toolReaders {
			t := read(path.Base(word), list[i+1:])
			if t.does == installs && path.Base(list[0]) == "xargs" {
				return tool{does: installsFromFile, command: strings.Join(list, " "), reason: inAnotherFile}
			}
			if t.does != nothing {
				return t.saying(list[i:])
			}
		}
	}
	for _, read := range programReaders {
		if t := read(path.Base(list[at]), list[at+1:]); t.does != nothing {
			return t.saying(list[at:])
		}
	}
	return scriptOf(list)
}

// saying returns the tool with the words that name it in a report.
func (t tool) saying(list []string) tool {
	t.command = strings.Join(list, " ")
	return t
}

// assignment matches a variable that env sets for the command behind it.
var assignment = lazyregexp.New(`^[A-Za-z_]\w*=`)

// program returns where a command's own name stands, behind those that only start another.
func program(list []string) int {
	for i, word := range list {
		name := path.Base(word)
		switch {
		case slices.Contains(starters, name), strings.HasPrefix(word, "-"), assignment.MatchString(word):
		case condaName.MatchString(name) && i+1 < len(list) && list[i+1] == "run", i > 0 && word == "run":
		case i > 0 && slices.Contains([]string{"-n", "-p", "-u", "--name", "--prefix", "--user"}, list[i-1]):
		default:
			return i
		}
	}
	return len(list)
}

// toolReaders read a tool by the name of its program and what follows.
var toolReaders = []func(name string, rest []string) tool{
	pipTool, uvTool, condaTool}

// programReaders read a tool where its name is a command's own.
var programReaders = []func(name string, rest []string) tool{projectTool, buildTool, fetchTool}

// verb returns the first word that is no option or the value of one, and what stands behind it.
func verb(list []string) (name string, rest []string) {
	for i := 0; i < len(list); i++ {
		switch {
		case slices.Contains(pipValues, list[i]):
			i++
		case !strings.HasPrefix(list[i], "-"):
			return list[i], list[i+1:]
		}
	}
	return "", nil
}

func pipTool(name string, rest []string) tool {
	python := pythonName.MatchString(name)
	switch {
	case name == "pip-sync":
		return tool{does: installs, args: syncedFiles(rest)}
	case name == "pipx":
		return installedBy(rest, "install")
	case python && len(rest) > 0 && rest[0] == "-mpip":
		rest = rest[1:]
	case python && len(rest) > 1 && rest[0] == "-m" && rest[1] == "pip":
		rest = rest[2:]
	case !pipName.MatchString(name):
		return tool{}
	}
	return pipVerb(rest)
}

func pipVerb(rest []string) tool {
	switch name, args := verb(rest); name {
	case "install":
		return tool{does: installs, args: args}
	case "uninstall":
		return tool{does: removes, args: args}
	case "sync": // of uv
		return tool{does: installs, args: syncedFiles(args)}
	}
	return tool{}
}

// installedBy returns the packages that a tool puts into an environment of their own.
func installedBy(rest []string, word string) tool {
	if name, args := verb(rest); name == word {
		return tool{does: installs, args: args, apart: true}
	}
	return tool{}
}

func uvTool(name string, rest []string) tool {
	switch name {
	case "uvx":
		if from := uvlock.OptionValues(rest, "--from"); len(from) > 0 {
			return tool{does: installs, args: from, apart: true}
		}
		word, _ := verb(rest)
		return tool{does: installs, args: []string{word}, apart: true}
	case "uv":
	default:
		return tool{}
	}
	switch name, args := verb(rest); name {
	case "pip":
		t := pipVerb(args)
		t.by = "uv"
		return t
	case "tool":
		return installedBy(args, "install")
	case "run":
		return tool{does: installsFromFile, by: "uv run", args: beforeCommand(rest[slices.Index(rest, "run")+1:])}
	case "sync":
		return tool{does: installsFromFile, by: "uv", args: rest, reason: inAnotherFile}
	case "add":
		return tool{does: installsFromFile, reason: inAnotherFile}
	}
	return tool{}
}

func condaTool(name string, rest []string) tool {
	if !condaName.MatchString(name) {
		return tool{}
	}
	name, args := verb(rest)
	if name == "env" {
		if name, _ = verb(args); name == "create" || name == "update" {
			return tool{does: installsFromFile, by: "conda", args: args, reason: inAnotherFile}
		}
		return tool{}
	}
	if name == "install" || name == "create" {
		return tool{does: addsByConda, args: args}
	}
	return tool{}
}

// projectTool reads what installs a project and what its own file names.
func projectTool(name string, rest []string) tool {
	word, _ := verb(rest)
	switch {
	case pythonName.MatchString(name) && path.Base(word) == "setup.py":
		if word, _ = verb(rest[slices.Index(rest, word)+1:]); word == "install" || word == "develop" {
			return tool{does: installsFromFile, reason: requirements.Elsewhere}
		}
	case slices.Contains([]string{"poetry", "pipenv", "pixi", "pdm"}, name) &&
		slices.Contains([]string{"install", "sync", "add"}, word):
		t := tool{does: installsFromFile, args: rest, reason: inAnotherFile}
		if word != "add" {
			t.by = name
		}
		return t
	}
	return tool{}
}

// builders are programs that compile, with the word that makes them; none where they do nothing else.
var builders = map[string]string{"make": "", "gmake": "", "ninja": "", "nvcc": "", "cmake": "--build", "cargo": "build",
	"go": "build", "bazel": "build", "meson": "compile"}

func buildTool(name string, rest []string) tool {
	word, builds := builders[name]
	if !builds || word != "" && !slices.Contains(rest, word) {
		return tool{}
	}
	return tool{does: compiles, reason: bySources}
}

// gpuArchive matches the address of a program for the GPU by the words of its name. A repository's archive has its sources,
// and NVIDIA's hosts have CUDA itself, which is no program.
var (
	gpuArchive = lazyregexp.New(`(?i)^https?://\S*(?:ollama|cuda|cu1\d\d|cublas|vllm|[-_]gpu)\S*\.(?:zip|tgz|tar|tar\.\w+)(?:$|[?#])`)
	noProgram  = lazyregexp.New(`(?i)/archive/|^https?://[\w.-]+\.nvidia\.com/`)
)

// fetchTool reads what fetches an archive that may hold a program for the GPU.
func fetchTool(name string, rest []string) tool {
	if name != "curl" && name != "wget" && name != "aria2c" {
		return tool{}
	}
	i := slices.IndexFunc(rest, func(word string) bool { return gpuArchive.MatchString(word) && !noProgram.MatchString(word) })
	if i < 0 {
		return tool{}
	}
	return tool{does: mayInstall, reason: byDownload}
}

// systemTool reads what a distribution's package manager installs of frameworks.
func systemTool(rest []string) tool {
	switch {
	case slices.ContainsFunc(rest, distroGPU.MatchString):
		return tool{does: mayInstall, reason: byDistro}
	case slices.ContainsFunc(rest, distroCUDA.MatchString):
		return tool{does: bringsToolkit}
	}
	return tool{}
}

// starters are the programs that only start another, or a script.
var starters = []string{"sudo", "time", "exec", "source", ".", "nice", "env", "command"}

// startNothing are the programs whose words are files or texts, and no program that they start.
var startNothing = []string{"mv", "cp", "ln", "rm", "mkdir", "rmdir", "touch", "chmod", "chown", "ls", "cat", "tee", "which",
	"tar", "unzip", "sed", "awk", "grep", "test", "[", "cd", "pushd", "popd", "export", "useradd", "usermod", "adduser",
	"groupadd", "git"}

// scriptOf returns the script that a command starts: one of the build context, or one that is fetched.
func scriptOf(list []string) tool {
	if i := slices.IndexFunc(list, ofGPU.MatchString); i >= 0 {
		return tool{does: mayInstall, command: list[i], reason: byScript}
	}
	for i, word := range list {
		name := path.Base(word)
		switch {
		case slices.Contains(starters, name), strings.HasPrefix(word, "-"), i > 0 && word == "pipefail",
			assignment.MatchString(word):
		case shellName.MatchString(name), pythonName.MatchString(name):
		case scriptName.MatchString(word) && name != "configure", i > 0 && pyScript.MatchString(word):
			return tool{does: mayInstall, command: word, reason: byScript}
		default:
			return tool{}
		}
	}
	return tool{}
}
