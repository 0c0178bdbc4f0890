// Package python reads Python environments: the frameworks in them, what these were built with, and the libraries that
// the loader would map for them. Nothing in an environment is imported.
package python

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// prefix is a Python installation before its packages are read. One directory can hold several: /usr has one for
// each version.
type prefix struct {
	path   string
	python string   // "3.12" or "3.13t"; for venvs and conda the full "3.12.3"
	kind   string   // as Environment.Kind
	sites  []string // its site-packages and dist-packages, in the order of sys.path
}

// candidate is a place where an environment may be.
type candidate struct {
	root          string
	python        string // only this version, when not empty
	active, named bool
}

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

// key is one for all ways to the same prefix. Sites would not do: environments can share the system's.
func (p prefix) key(h *host.Host) string {
	real, err := h.Resolve(p.path)
	if err != nil {
		real = p.path
	}
	return real + " " + p.python
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

// namedPython is what --env names: a prefix, or the interpreter in its bin directory. On this machine a relative path
// counts from the working directory.
func namedPython(h *host.Host, name string) candidate {
	if abs, err := filepath.Abs(name); err == nil && h.Root == "/" {
		name = abs
	}
	name = path.Clean("/" + name)
	if path.Base(path.Dir(name)) == "bin" && strings.HasPrefix(path.Base(name), "python") {
		if c, ok := pythonPrefix(h, name); ok {
			return c
		}
		name = path.Dir(path.Dir(name)) // its links may lead out of the tree
	}
	return candidate{root: name}
}

// activePython finds the environment that `python3` starts in this process's environment.
func activePython(h *host.Host) (candidate, bool) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := h.Var(name); path.IsAbs(root) && isPrefix(h, root) {
			return candidate{root: root}, true
		}
	}
	for _, dir := range host.SplitPath(h.Var("PATH")) {
		if c, ok := pythonPrefix(h, path.Join(dir, "python3")); ok {
			return c, true
		}
	}
	return candidate{}, false
}

var pythonBinary = lazyregexp.New(`^python(\d+\.\d+t?)$`)

// pythonPrefix finds the prefix of an interpreter as CPython does: pyvenv.cfg beside the name as it was called, else
// where its links end.
func pythonPrefix(h *host.Host, binary string) (candidate, bool) {
	if path.Base(path.Dir(binary)) == "shims" {
		return pyenvPrefix(h, path.Dir(path.Dir(binary)))
	}
	real, err := h.Resolve(binary)
	if err != nil {
		return candidate{}, false
	}
	if root := path.Dir(path.Dir(binary)); h.Exists(path.Join(root, "pyvenv.cfg")) {
		return candidate{root: root}, true
	}
	c := candidate{root: path.Dir(path.Dir(real))}
	if m := pythonBinary.FindStringSubmatch(path.Base(real)); m != nil {
		c.python = m[1]
	}
	return c, true
}

// pyenvPrefix is what pyenv's shims start, which are scripts: the version named in a file, "3.11.7", "3.11" for the
// newest of its releases, or "system" for the next python3 on PATH.
func pyenvPrefix(h *host.Host, root string) (candidate, bool) {
	version, err := h.ReadLine(path.Join(root, "version"))
	if err != nil {
		return candidate{}, false
	}
	dir := path.Join(root, "versions", version)
	if newest := h.GlobIn(root, "versions/"+version+".*"); !h.Exists(dir) && len(newest) > 0 {
		slices.SortFunc(newest, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		dir = newest[len(newest)-1]
	}
	return candidate{root: dir}, isPrefix(h, dir)
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

func isPrefix(h *host.Host, root string) bool {
	return h.Exists(root+"/pyvenv.cfg") || len(h.GlobIn(root, "lib/python3.*")) > 0 || len(h.GlobIn(root, "lib64/python3.*")) > 0
}

// IsEnvironment says whether a Python environment stands at root.
func IsEnvironment(h *host.Host, root string) bool {
	return isPrefix(h, namedPython(h, root).root)
}

// prefixesAt finds the Python installations in root, one for each version.
func prefixesAt(h *host.Host, root string, failed *host.Errors) []prefix {
	var list []prefix
	for _, version := range pythonVersions(h, root) {
		if p := (prefix{path: root, python: version, kind: "system"}); p.fill(h, failed) {
			list = append(list, p)
		}
	}
	return list
}

// pythonVersions lists the X.Y of root's lib/pythonX.Y directories.
func pythonVersions(h *host.Host, root string) []string {
	var versions []string
	for _, pattern := range []string{"lib/python3.*", "lib64/python3.*"} {
		for _, dir := range h.GlobIn(root, pattern) {
			if m := pythonBinary.FindStringSubmatch(path.Base(dir)); m != nil && !slices.Contains(versions, m[1]) {
				versions = append(versions, m[1])
			}
		}
	}
	return versions
}

// fill finds out the prefix's kind, full version and site directories; false says that it belongs to another one.
func (p *prefix) fill(h *host.Host, failed *host.Errors) bool {
	if p.path == "/usr/local" && h.Exists("/usr/bin/python"+p.python) && !h.Exists("/usr/local/bin/python"+p.python) {
		return false // the distribution's Python, which installs there
	}
	p.sites = siteDirs(h, p.path, p.python)
	switch {
	case len(h.GlobIn(p.path, "pyvenv.cfg")) > 0:
		p.kind = "venv"
		return p.venv(h, failed)
	case h.Exists(p.path + "/conda-meta"):
		p.kind = "conda"
		_, err := h.ReadDir(p.path + "/conda-meta")
		failed.Add(err)
		if full := condaVersion(h, p.path, "python"); shortPython(full) == p.python {
			p.python = full
		}
	case path.Base(p.path) == ".local":
		p.kind = "user"
	case p.path == "/usr":
		p.sites = systemSites(h, p.path, p.python)
		return h.Exists("/usr/bin/python"+p.python) || h.Exists("/usr/libexec/platform-python"+p.python) // not its library alone
	}
	return true
}

// systemSites are the package directories of an installation; the distribution's Python, in /usr, looks in /usr/local
// first, where another Python may stand that owns site-packages there.
func systemSites(h *host.Host, root, python string) []string {
	sites := siteDirs(h, root, python)
	if root != "/usr" {
		return sites
	}
	sites = append(siteDirs(h, "/usr/local", python), sites...)
	if h.Exists("/usr/local/bin/python" + python) {
		sites = slices.DeleteFunc(sites, func(s string) bool {
			return strings.HasPrefix(s, "/usr/local/") && path.Base(s) == "site-packages"
		})
	}
	return sites
}

// siteDirs lists the package directories under root for one Python version, each once: lib64 is a link in venvs and
// a directory of its own on Red Hat.
func siteDirs(h *host.Host, root, python string) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, tail := range []string{
		"/lib64/python" + python + "/site-packages", "/lib/python" + python + "/site-packages",
		"/lib/python" + python + "/dist-packages", "/lib/python3/dist-packages",
	} {
		real, err := h.Resolve(root + tail)
		if err == nil && !seen[real] {
			seen[real] = true
			dirs = append(dirs, real)
		}
	}
	return dirs
}

var fullVersion = lazyregexp.New(`^\d+\.\d+\.\d+`)

var pyvenvField = lazyregexp.New(`(?m)^\s*([\w-]+)\s*=\s*(.*?)\s*$`)

// venv reads pyvenv.cfg: lines such as "home = /usr/bin", "version = 3.12.3" (uv: "version_info = 3.12.3") and
// "include-system-site-packages = false".
// It is false for the lib directory that another version has left behind.
func (p *prefix) venv(h *host.Host, failed *host.Errors) bool {
	data, err := h.ReadFile(p.path + "/pyvenv.cfg")
	failed.Add(err)
	fields := map[string]string{}
	for _, m := range pyvenvField.FindAllStringSubmatch(string(data), -1) {
		fields[strings.ToLower(m[1])] = m[2]
	}
	if strings.EqualFold(fields["include-system-site-packages"], "true") {
		p.sites = append(p.sites, systemSites(h, path.Dir(path.Clean(fields["home"])), p.python)...)
	}
	full := cmp.Or(fullVersion.FindString(fields["version"]), fullVersion.FindString(fields["version_info"]))
	switch short := shortPython(full); {
	case full == "":
	case short == p.python:
		p.python = full
	case h.Exists(p.path + "/lib/python" + short):
		return false
	}
	return true
}

// shortPython is "3.12" of "3.12.3".
func shortPython(full string) string {
	if parts := strings.SplitN(full, ".", 3); len(parts) == 3 {
		return parts[0] + "." + parts[1]
	}
	return full
}

// withUserSite puts the user's own packages before the system's, as the running user's `python3` does.
func withUserSite(h *host.Host, p prefix, c candidate) []string {
	home := h.Var("HOME")
	if !c.active || p.kind == "venv" || home == "" {
		return p.sites
	}
	user := home + "/.local/lib/python" + shortPython(p.python) + "/site-packages"
	if !h.Exists(user) {
		return p.sites
	}
	return append([]string{user}, p.sites...)
}
