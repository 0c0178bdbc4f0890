package python

import (
	"path"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// candidates lists where to look, best first: those that were named and nothing else, or the active one, those that
// run, and those in known places. A place listed twice keeps the marks of both.
func (s *search) candidates(envs []string) []candidate {
	active, ok := activePython(s.Host)
	active.active = ok
	var list []candidate
	for _, name := range envs {
		c := namedPython(s.Host, name)
		c.found, c.named, c.active = "named by --env", true, ok && c.root == active.root
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

// activePython finds the environment that a program is started with here. In a container that is the interpreter of its
// first process; elsewhere what this process's environment, the place of its program, its directory and its PATH lead
// to, in this order.
func activePython(h *host.Host) (candidate, bool) {
	if h.Rest {
		return candidate{}, false
	}
	for _, way := range []struct {
		by   string
		find func(*host.Host) (candidate, bool)
	}{
		{"process 1", ofFirstProcess},
		{"VIRTUAL_ENV", ofVirtualEnv},
		{"CONDA_PREFIX", ofConda},
		{"the cudacompat in it", ofProgram},
		{"the working directory", ofProject},
		{"python3 on PATH", onPath},
	} {
		if c, ok := way.find(h); ok {
			c.found = "active by " + way.by
			return c, true
		}
	}
	return candidate{}, false
}

// ofFirstProcess is the interpreter that a container runs; a shell or an init there says nothing.
func ofFirstProcess(h *host.Host) (candidate, bool) {
	if h.ContainerKind() == "" {
		return candidate{}, false
	}
	return pythonOfProcess(h, "/proc/1")
}

func ofVirtualEnv(h *host.Host) (candidate, bool) {
	root := h.Var("VIRTUAL_ENV")
	return candidate{root: root}, path.IsAbs(root) && isPrefix(h, root)
}

// ofConda is the environment that CONDA_PREFIX names. Conda activates its base for every shell, so that one was not
// chosen.
func ofConda(h *host.Host) (candidate, bool) {
	root := h.Var("CONDA_PREFIX")
	return candidate{root: root}, path.IsAbs(root) && isPrefix(h, root) && !h.Exists(root+"/condabin")
}

// ofProgram is the environment that this program was installed into and is called from by its path, without activation.
func ofProgram(h *host.Host) (candidate, bool) {
	program, err := h.Readlink("/proc/self/exe")
	if err != nil {
		return candidate{}, false
	}
	root := path.Dir(path.Dir(program))
	return candidate{root: root}, h.Exists(root+"/pyvenv.cfg") && !forOneTool(h, root)
}

// forOneTool reports whether an environment holds this program and nothing beside it: uvx and pipx make one for it, and
// uvx puts it first on PATH. What there is to judge is elsewhere.
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

// projectEnvironments are where tools keep the environment of a project, below its directory: uv, Poetry and editors use
// .venv, pixi its default one, without its being activated.
var projectEnvironments = []string{".venv", ".pixi/envs/default"}

// ofProject is the nearest environment of a project of the working directory and its parents.
func ofProject(h *host.Host) (candidate, bool) {
	for dir := h.Var("PWD"); path.IsAbs(dir); dir = path.Dir(dir) {
		for _, name := range projectEnvironments {
			if isPrefix(h, path.Join(dir, name)) {
				return candidate{root: path.Join(dir, name)}, true
			}
		}
		if dir == "/" {
			break
		}
	}
	return candidate{}, false
}

func onPath(h *host.Host) (candidate, bool) {
	for _, dir := range host.SplitPath(h.Var("PATH")) {
		if c, ok := pythonPrefix(h, path.Join(dir, "python3")); ok && !forOneTool(h, c.root) {
			return c, true
		}
	}
	return candidate{}, false
}

// Active is the prefix of the environment that python3 starts here; empty where none is found.
func Active(h *host.Host) string {
	c, _ := activePython(h)
	return c.root
}
