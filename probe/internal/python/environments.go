// Package python reads Python environments: the frameworks in them, what these were built with, and the libraries that
// the loader would map for them. Nothing in an environment is imported.
package python

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// Read reads every Python environment: those named, the active one, those in known places. An
// environment that cannot be read costs itself alone.
func Read(h *host.Host, envs []string) ([]facts.Environment, error) {
	var environments []facts.Environment
	var failed host.Errors
	seen := map[string]int{} // a prefix's first site directory → its index in environments, -1 when it holds nothing
	for _, c := range candidates(h, envs) {
		for _, p := range prefixesAt(h, c.root, &failed) {
			if c.python != "" && !strings.HasPrefix(p.python+".", c.python+".") {
				continue
			}
			p.sites = withUserSite(h, p, c)
			i, known := seen[p.key(h)]
			if !known {
				env := readEnvironment(h, p, &failed)
				i = -1
				if c.active || c.named || len(env.Builds)+len(env.Packages) > 0 {
					i = len(environments)
					environments = append(environments, env)
				}
				seen[p.key(h)] = i
			}
			if i >= 0 {
				environments[i].Active = environments[i].Active || c.active
				environments[i].Named = environments[i].Named || c.named
			}
		}
	}
	if len(environments) == 0 && len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return environments, failed.Err()
}

// candidates lists where to look, best first: a place listed twice keeps the marks of both.
func candidates(h *host.Host, envs []string) []candidate {
	var list []candidate
	for _, name := range envs {
		c := namedPython(h, name)
		c.named = true
		list = append(list, c)
	}
	if c, ok := activePython(h); ok {
		c.active = true
		list = append(list, c)
	}
	list = append(list, runningPythons(h)...)
	for _, root := range knownRoots(h) {
		list = append(list, candidate{root: root})
	}
	return list
}

// bases are the directories under which people put environments.
var bases = []string{"/opt/*", "/usr/local", "/srv", "/app", "/workspace", "/root", "/home/*"}

// maxRoots bounds the places looked at; a home directory can hold thousands of projects.
const maxRoots = 4000

// knownRoots lists the places where environments are usually found and where something is.
func knownRoots(h *host.Host) []string {
	roots := []string{"/usr"}
	for _, pattern := range bases {
		for _, base := range h.Glob(pattern) {
			roots = append(roots, withInner(base)...)
			roots = append(roots, storedIn(h, base)...)
			roots = append(roots, base+"/.local")
			for _, child := range subdirs(h, base) {
				roots = append(roots, withInner(child)...)
				roots = append(roots, subdirs(h, child+"/envs")...)
			}
			roots = append(roots, subdirs(h, base+"/envs")...)
		}
	}
	return slices.DeleteFunc(roots[:min(len(roots), maxRoots)], func(root string) bool { return !isPrefix(h, root) })
}

func withInner(dir string) []string { return []string{dir, dir + "/venv", dir + "/.venv"} }

func subdirs(h *host.Host, dir string) []string {
	entries, err := h.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.Name()[0] != '.' && !e.Type().IsRegular() {
			dirs = append(dirs, path.Join(dir, e.Name()))
		}
	}
	return dirs
}

// IsEnvironment says whether a Python environment stands at root.
func IsEnvironment(h *host.Host, root string) bool {
	return isPrefix(h, namedPython(h, root).root)
}

// withUserSite puts the user's own packages before the system's, as the running user's `python3` does.
func withUserSite(h *host.Host, p prefix, c candidate) []string {
	home := h.Var("HOME")
	if !c.active || p.kind == "venv" || home == "" {
		return p.sites
	}
	user := home + "/.local/lib/python" + version.ShortPython(p.python) + "/site-packages"
	if !h.Exists(user) {
		return p.sites
	}
	return append([]string{user}, p.sites...)
}
