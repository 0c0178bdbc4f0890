package pyenv

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// Candidates lists the Python environments to read, best first. If envs names some, it lists only these. Otherwise it
// lists the active environment, those of running processes, and those in known places. If an environment is found
// twice, the entry has the flags of both (Active, Named, and so on).
func (s *Search) Candidates(envs []string) []Candidate {
	active, ok := ActivePython(s.Host)
	active.Active = ok
	var list []Candidate
	for _, name := range envs {
		c := NamedPython(s.Host, name)
		c.Found, c.Named, c.Active = "named by --env", true, ok && c.Root == active.Root
		list = append(list, c)
	}
	if len(list) > 0 {
		return list
	}
	if ok {
		list = append(list, active)
	}
	list = append(list, s.runningPythons()...)
	return append(list, s.knownRoots()...)
}

// ActivePython returns the environment in which a program starts here. In a container that is the interpreter of its
// first process, which an image names. Otherwise the variables, this program's location, the directory and PATH lead to
// it, in this order.
func ActivePython(h *host.Host) (Candidate, bool) {
	if !h.Starts() {
		return Candidate{}, false
	}
	for _, way := range []struct {
		by   string
		find func(*host.Host) (Candidate, bool)
	}{
		{"what the image starts", imageInterpreter},
		{"process 1", firstProcessInterpreter},
		{"VIRTUAL_ENV", activeVirtualEnv},
		{"CONDA_PREFIX", activeConda},
		{"the cudacompat in it", programEnvironment},
		{"the working directory", projectEnvironment},
		{"python3 on PATH", onPath},
	} {
		if c, ok := way.find(h); ok {
			c.Found = "active by " + way.by
			return c, true
		}
	}
	return Candidate{}, false
}

// imageInterpreter returns the interpreter that an image starts, by itself or for a script: what becomes its
// containers' first process.
func imageInterpreter(h *host.Host) (Candidate, bool) {
	if h.Start == "" {
		return Candidate{}, false
	}
	file := h.OnPath(h.Start)
	if strings.Contains(h.Start, "/") {
		file = path.Join("/", h.Start)
		if !path.IsAbs(h.Start) {
			file = path.Join(h.Var("PWD"), h.Start)
		}
	}
	if !startsPython(h, file) {
		file = scriptInterpreter(h, file)
	}
	if !startsPython(h, file) {
		return Candidate{}, false
	}
	return pythonPrefix(h, file)
}

// startsPython reports whether a file is an interpreter, links followed.
func startsPython(h *host.Host, file string) bool {
	real, err := h.Resolve(file)
	return err == nil && path.IsAbs(file) && pythonProgram.MatchString(path.Base(real))
}

// scriptInterpreter returns the program that the kernel starts for a script, by its first line, or that env starts;
// empty for what is none.
//
//	#!/opt/venv/bin/python3
//	#!/usr/bin/env -S python3 -u
func scriptInterpreter(h *host.Host, file string) string {
	first, rest, _ := strings.Cut(scriptHead(h, file), "\n")
	line, isScript := strings.CutPrefix(first, "#!")
	words := strings.Fields(line)
	if !isScript || len(words) == 0 {
		return ""
	}
	if m := pipExec.FindStringSubmatch(rest); m != nil {
		return m[1]
	}
	if path.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		switch {
		case strings.HasPrefix(word, "-") || strings.Contains(word, "="):
		case path.IsAbs(word):
			return word
		default:
			return h.OnPath(word)
		}
	}
	return ""
}

// pipExec matches the second line of a script that pip writes for an interpreter whose path is too long for the first:
//
//	#!/bin/sh
//	'''exec' "/opt/a long path/bin/python3.12" "$0" "$@"
var pipExec = lazyregexp.New(`^'''exec' "?(/[^"\n]*?)"? "\$0" "\$@"`)

// scriptHead returns what begins a file, as far as the kernel looks at it (BINPRM_BUF_SIZE of linux/binfmts.h).
func scriptHead(h *host.Host, file string) string {
	f, err := h.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := host.ToSearch(f).ReadAt(head, 0) // of an image what begins a script is kept
	return string(head[:n])
}

// firstProcessInterpreter returns the interpreter that a container runs; a shell or an init there says nothing.
func firstProcessInterpreter(h *host.Host) (Candidate, bool) {
	if h.ContainerKind() == "" {
		return Candidate{}, false
	}
	return pythonOfProcess(h, "/proc/1")
}

func activeVirtualEnv(h *host.Host) (Candidate, bool) {
	root := h.Var("VIRTUAL_ENV")
	return Candidate{Root: root}, path.IsAbs(root) && (IsPrefix(h, root) || h.Unseen(root))
}

// activeConda returns the environment that CONDA_PREFIX names. Conda activates its base for every shell, so that one
// was not chosen.
func activeConda(h *host.Host) (Candidate, bool) {
	root := h.Var("CONDA_PREFIX")
	return Candidate{Root: root}, path.IsAbs(root) && (IsPrefix(h, root) || h.Unseen(root)) && !h.Exists(root+"/condabin")
}

// programEnvironment returns the environment that this program was installed into and is called from by its path,
// without activation.
func programEnvironment(h *host.Host) (Candidate, bool) {
	program, err := h.Readlink("/proc/self/exe")
	if err != nil {
		return Candidate{}, false
	}
	root := path.Dir(path.Dir(program))
	return Candidate{Root: root}, h.Exists(root+"/pyvenv.cfg") && !forOneTool(h, root)
}

// forOneTool reports whether an environment contains only this program: uvx and pipx make one for it, and uvx puts it
// first on PATH. The environment to judge is then another one.
func forOneTool(h *host.Host, root string) bool {
	packages := h.GlobIn(root, "lib/python3.*/site-packages/*.dist-info")
	own := false
	for _, p := range packages {
		name, _, _ := strings.Cut(path.Base(p), "-")
		own = own || name == "cudacompat"
		if !slices.Contains([]string{"cudacompat", "pip", "setuptools", "wheel"}, name) {
			return false
		}
	}
	return own
}

// projectEnvironments are where tools keep the environment of a project, below its directory: uv, Poetry and editors
// use .venv, pixi its default one, without its being activated.
var projectEnvironments = []string{".venv", ".pixi/envs/default"}

// projectEnvironment returns the nearest environment of a project of the working directory and its parents.
func projectEnvironment(h *host.Host) (Candidate, bool) {
	for dir := h.Var("PWD"); path.IsAbs(dir); dir = path.Dir(dir) {
		for _, name := range projectEnvironments {
			if IsPrefix(h, path.Join(dir, name)) {
				return Candidate{Root: path.Join(dir, name)}, true
			}
		}
		if dir == "/" {
			break
		}
	}
	return Candidate{}, false
}

func onPath(h *host.Host) (Candidate, bool) {
	for _, dir := range host.SplitPath(h.Var("PATH")) {
		if c, ok := pythonPrefix(h, path.Join(dir, "python3")); ok && !forOneTool(h, c.Root) {
			return c, true
		}
	}
	return Candidate{}, false
}

// Active returns the prefix of the environment that python3 starts here, or "".
func Active(h *host.Host) string {
	c, _ := ActivePython(h)
	return c.Root
}
