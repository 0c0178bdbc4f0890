// Package installer tells by its words what a command installs: packages that it names, what another file says, or what
// nobody knows.
package installer

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/input/uvlock"
)

// Tool is what one command of a Dockerfile starts to install something.
type Tool struct {
	Does    Deed
	Args    []string // what it is given
	Command string   // the command, as a report names it
	Reason  string   // why what it installs is not known
	By      string   // the program whose own files say what is installed: uv, poetry, conda
	Apart   bool     // into an environment of its own
	Script  bool     // a script that may install any package, unless its text says otherwise
}

// Deed is what a tool does to an image.
type Deed int

const (
	Nothing          Deed = iota
	Installs              // packages that its words, or files that they name, say
	Removes               // packages
	AddsByConda           // packages of conda
	InstallsFromFile      // what only another file says
	MayInstall            // what nobody knows: a script of the project
	Compiles              // sources
	BringsToolkit         // CUDA's, to compile with
)

// Why what a command installs is not known.
const (
	InAnotherFile = "its packages are in another file: check that one, too, or give the build context with --include-root"
	byProgram     = "the file itself installs no package, and what this program installs was not read"
	byDownload    = "the file itself installs no package, and what is in this archive was not read"
	bySources     = "what it compiles was not read"
	byDistro      = "no table has the builds of a distribution"
)

// The names by which tools are started, of any directory and release. A variable tells by its own name what it holds
// where the file does not set it ($PIP install, ${MICROMAMBA_BIN} create).
var (
	PipName       = lazyregexp.New(`^(?:pip3?(?:\.\d+)?|\$\{?\w*(?:PIP|pip)\w*\}?)$`)
	PythonName    = lazyregexp.New(`^(?:python3?(?:\.\d+)?|pypy3?|\$\{?\w*(?:PYTHON|PY|python)\w*\}?)$`)
	CondaName     = lazyregexp.New(`^(?:conda|mamba|micromamba|\$\{?\w*(?:CONDA|MAMBA|conda|mamba)\w*\}?)$`)
	ShellName     = lazyregexp.New(`^(?:ba|da|z|a|k)?sh$|^(?:su|runuser)$`)
	systemName    = lazyregexp.New(`^(?:apt|apt-get|aptitude|yum|dnf|microdnf|tdnf|zypper|apk|pacman)$`)
	PyScript      = lazyregexp.New(`^(?:\.{0,2}/)?(?:[\w.-]+/)*(?:\w*install\w*|launch|bootstrap)\.py$`)
	CommandOption = lazyregexp.New(`^-\w*c$`) // the option of a shell before the commands that it is given
	GPUScript     = lazyregexp.New(`(?i)https?://\S*(?:ollama|cuda|nvidia|vllm)\S*\.sh\b`)
	distroCUDA    = lazyregexp.New(`^(?:nvidia-cuda-toolkit|cuda(?:-toolkit|-nvcc|-compiler|-libraries-dev)?(?:-\d+)*)` +
		`(?:=|$)`)
	distroGPU = lazyregexp.New(`^python3?\d*-(?:torch|pytorch|tensorflow|jax|cupy|pycuda)\b`)
)

// Find returns the tool that a command starts, whatever starts it (sudo, env A=b, conda run -n x). What installs
// Python packages is found behind a wrapper of any name; what else there is only where a command's own name stands.
func Find(list []string) Tool {
	at := FindProgram(list)
	if at == len(list) {
		return Tool{}
	}
	switch name := path.Base(list[at]); {
	case systemName.MatchString(name):
		return systemTool(list[at+1:]).saying(list[at:])
	case slices.Contains(startNothing, name):
		return Tool{}
	}
	for i, word := range list {
		for _, read := range toolReaders {
			t := read(path.Base(word), list[i+1:])
			if t.Does == Installs && path.Base(list[0]) == "xargs" {
				return Tool{Does: InstallsFromFile, Command: strings.Join(list, " "), Reason: InAnotherFile}
			}
			if t.Does != Nothing {
				return t.saying(list[i:])
			}
		}
	}
	for _, read := range programReaders {
		if t := read(path.Base(list[at]), list[at+1:]); t.Does != Nothing {
			return t.saying(list[at:])
		}
	}
	return FindScript(list)
}

// saying returns the tool with the words that name it in a report.
func (t Tool) saying(list []string) Tool {
	t.Command = strings.Join(list, " ")
	return t
}

// assignment matches a variable that env sets for the command behind it.
var assignment = lazyregexp.New(`^[A-Za-z_]\w*=`)

// FindProgram returns where a command's own name stands, behind those that only start another.
func FindProgram(list []string) int {
	for i, word := range list {
		name := path.Base(word)
		switch {
		case slices.Contains(Starters, name), strings.HasPrefix(word, "-"), assignment.MatchString(word):
		case CondaName.MatchString(name) && i+1 < len(list) && list[i+1] == "run", i > 0 && word == "run":
		case i > 0 && slices.Contains([]string{"-n", "-p", "-u", "--name", "--prefix", "--user"}, list[i-1]):
		default:
			return i
		}
	}
	return len(list)
}

// toolReaders read a tool by the name of its program and what follows.
var toolReaders = []func(name string, rest []string) Tool{
	pipTool, uvTool, condaTool}

// programReaders read a tool where its name is a command's own.
var programReaders = []func(name string, rest []string) Tool{projectTool, buildTool, fetchTool}

// verb returns the first word that is neither an option nor an option's value, and the words after it.
func verb(list []string) (name string, rest []string) {
	for i := 0; i < len(list); i++ {
		switch {
		case slices.Contains(PipValues, list[i]):
			i++
		case !strings.HasPrefix(list[i], "-"):
			return list[i], list[i+1:]
		}
	}
	return "", nil
}

func pipTool(name string, rest []string) Tool {
	python := PythonName.MatchString(name)
	switch {
	case name == "pip-sync":
		return Tool{Does: Installs, Args: syncedFiles(rest)}
	case name == "pipx":
		return installedBy(rest, "install")
	case python && len(rest) > 0 && rest[0] == "-mpip":
		rest = rest[1:]
	case python && len(rest) > 1 && rest[0] == "-m" && rest[1] == "pip":
		rest = rest[2:]
	case !PipName.MatchString(name):
		return Tool{}
	}
	return pipVerb(rest)
}

func pipVerb(rest []string) Tool {
	switch name, args := verb(rest); name {
	case "install":
		return Tool{Does: Installs, Args: args}
	case "uninstall":
		return Tool{Does: Removes, Args: args}
	case "sync": // of uv
		return Tool{Does: Installs, Args: syncedFiles(args)}
	}
	return Tool{}
}

// installedBy returns the packages that a tool puts into an environment of their own.
func installedBy(rest []string, word string) Tool {
	if name, args := verb(rest); name == word {
		return Tool{Does: Installs, Args: args, Apart: true}
	}
	return Tool{}
}

func uvTool(name string, rest []string) Tool {
	switch name {
	case "uvx":
		if from := uvlock.OptionValues(rest, "--from"); len(from) > 0 {
			return Tool{Does: Installs, Args: from, Apart: true}
		}
		word, _ := verb(rest)
		return Tool{Does: Installs, Args: []string{word}, Apart: true}
	case "uv":
	default:
		return Tool{}
	}
	switch name, args := verb(rest); name {
	case "pip":
		t := pipVerb(args)
		t.By = "uv"
		return t
	case "tool":
		return installedBy(args, "install")
	case "run":
		return Tool{Does: InstallsFromFile, By: "uv run", Args: beforeCommand(rest[slices.Index(rest, "run")+1:])}
	case "sync":
		return Tool{Does: InstallsFromFile, By: "uv", Args: rest, Reason: InAnotherFile}
	case "add":
		return Tool{Does: InstallsFromFile, Reason: InAnotherFile}
	}
	return Tool{}
}

func condaTool(name string, rest []string) Tool {
	if !CondaName.MatchString(name) {
		return Tool{}
	}
	name, args := verb(rest)
	if name == "env" {
		if name, _ = verb(args); name == "create" || name == "update" {
			return Tool{Does: InstallsFromFile, By: "conda", Args: args, Reason: InAnotherFile}
		}
		return Tool{}
	}
	if name == "install" || name == "create" {
		return Tool{Does: AddsByConda, Args: args}
	}
	return Tool{}
}

// projectTool reads what installs a project and what its own file names.
func projectTool(name string, rest []string) Tool {
	word, _ := verb(rest)
	switch {
	case PythonName.MatchString(name) && path.Base(word) == "setup.py":
		if word, _ = verb(rest[slices.Index(rest, word)+1:]); word == "install" || word == "develop" {
			return Tool{Does: InstallsFromFile, Reason: requirements.Elsewhere}
		}
	case slices.Contains([]string{"poetry", "pipenv", "pixi", "pdm"}, name) &&
		slices.Contains([]string{"install", "sync", "add"}, word):
		t := Tool{Does: InstallsFromFile, Args: rest, Reason: InAnotherFile}
		if word != "add" {
			t.By = name
		}
		return t
	}
	return Tool{}
}

// builders are programs that compile, with the word that makes them; none where they do nothing else.
var builders = map[string]string{"make": "", "gmake": "", "ninja": "", "nvcc": "", "cmake": "--build", "cargo": "build",
	"go": "build", "bazel": "build", "meson": "compile"}

func buildTool(name string, rest []string) Tool {
	word, builds := builders[name]
	if !builds || word != "" && !slices.Contains(rest, word) {
		return Tool{}
	}
	return Tool{Does: Compiles, Reason: bySources}
}

// gpuArchive matches the address of a program for the GPU by the words of its name. A repository's archive has its sources,
// and NVIDIA's hosts have CUDA itself, which is no program.
var (
	gpuArchive = lazyregexp.New(`(?i)^https?://\S*(?:ollama|cuda|cu1\d\d|cublas|vllm|[-_]gpu)\S*\.(?:zip|tgz|tar|tar\.\w+)(?:$|[?#])`)
	noProgram  = lazyregexp.New(`(?i)/archive/|^https?://[\w.-]+\.nvidia\.com/`)
)

// fetchTool reads what fetches an archive that may hold a program for the GPU.
func fetchTool(name string, rest []string) Tool {
	if name != "curl" && name != "wget" && name != "aria2c" {
		return Tool{}
	}
	i := slices.IndexFunc(rest, func(word string) bool { return gpuArchive.MatchString(word) && !noProgram.MatchString(word) })
	if i < 0 {
		return Tool{}
	}
	return Tool{Does: MayInstall, Reason: byDownload}
}

// systemTool reads what a distribution's package manager installs of frameworks.
func systemTool(rest []string) Tool {
	switch {
	case slices.ContainsFunc(rest, distroGPU.MatchString):
		return Tool{Does: MayInstall, Reason: byDistro}
	case slices.ContainsFunc(rest, distroCUDA.MatchString):
		return Tool{Does: BringsToolkit}
	}
	return Tool{}
}

// Starters are the programs that only start another, or a script.
var Starters = []string{"sudo", "time", "exec", "source", ".", "nice", "env", "command"}

// startNothing are the programs whose words are files or texts, and no program that they start.
var startNothing = []string{"mv", "cp", "ln", "rm", "mkdir", "rmdir", "touch", "chmod", "chown", "ls", "cat", "tee", "which",
	"tar", "unzip", "sed", "awk", "grep", "test", "[", "cd", "pushd", "popd", "export", "useradd", "usermod", "adduser",
	"groupadd", "git"}
