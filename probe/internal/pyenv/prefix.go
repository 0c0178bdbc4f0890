package pyenv

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/host"
)

// Prefix is a Python installation before its packages are read. One directory can hold several: /usr has one for
// each version.
type Prefix struct {
	Path   string
	Python string   // "3.12" or "3.13t"; for venvs and conda the full "3.12.3"
	Kind   string   // as Environment.Kind
	Sites  []string // its site-packages and dist-packages, in the order of sys.path
	base   int      // where in sites those of the Python it is made of begin; 0 where it stands for itself
	Own    []string // of Sites those that are the installation's own; set with the import path
	// whether it is started with the variables that are known: active, or named, and no tree at rest
	Started bool
}

// Key returns one for all ways to the same prefix. Sites would not do: environments can share the system's.
func (p Prefix) Key(h *host.Host) string {
	real, err := h.Resolve(p.Path)
	if err != nil {
		real = p.Path
	}
	return real + " " + p.Python
}

var pythonBinary = lazyregexp.New(`^python(\d+\.\d+t?)$`)

func IsPrefix(h *host.Host, root string) bool {
	return h.Exists(root+"/pyvenv.cfg") || len(h.GlobIn(root, "lib/python3.*")) > 0 ||
		len(h.GlobIn(root, "lib64/python3.*")) > 0
}

// IsTarget reports whether dir is what `pip install --target` fills: distributions without an interpreter.
func IsTarget(h *host.Host, dir string) bool {
	return len(h.GlobIn(dir, "*.dist-info")) > 0 || len(h.GlobIn(dir, "*.egg-info")) > 0
}

// PrefixesAt finds the Python installations in root, one for each version.
func PrefixesAt(h *host.Host, root string, failed *host.Errors) []Prefix {
	if !IsPrefix(h, root) && IsTarget(h, root) {
		return []Prefix{{Path: root, Kind: "target", Python: targetPython(h, root), Sites: []string{root}}}
	}
	var list []Prefix
	for _, version := range pythonVersions(h, root) {
		if p := (Prefix{Path: root, Python: version, Kind: "system"}); p.fill(h, failed) {
			list = append(list, p)
		}
	}
	return list
}

// targetPython returns the Python version of the extension modules in a directory of distributions, or "".
func targetPython(h *host.Host, dir string) string {
	return cmp.Or(ExtensionPython(h, dir+"/torch/_C.cpython-*.so"),
		ExtensionPython(h, dir+"/numpy/*/_multiarray_umath.cpython-*.so"))
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

// fill determines the prefix's kind, full version and site directories. It returns false if it belongs to another
// prefix.
func (p *Prefix) fill(h *host.Host, failed *host.Errors) bool {
	if p.Path == "/usr/local" && h.Exists("/usr/bin/python"+p.Python) && !h.Exists("/usr/local/bin/python"+p.Python) {
		return false // the distribution's Python, which installs there
	}
	p.Sites = siteDirs(h, p.Path, p.Python)
	switch {
	case len(h.GlobIn(p.Path, "pyvenv.cfg")) > 0:
		p.Kind = "venv"
		return p.venv(h, failed)
	case h.Exists(p.Path + "/conda-meta"):
		p.Kind = "conda"
		_, err := h.ReadDir(p.Path + "/conda-meta")
		failed.Add(err)
		if full := condaVersion(h, p.Path, "python"); version.ShortPython(full) == p.Python {
			p.Python = full
		}
	case path.Base(p.Path) == ".local":
		p.Kind = "user"
	case p.Path == "/usr":
		p.Sites = systemSites(h, p.Path, p.Python)
		// not its library alone
		return h.Exists("/usr/bin/python"+p.Python) || h.Exists("/usr/libexec/platform-python"+p.Python)
	}
	return true
}

// systemSites returns the package directories of an installation. The distribution's Python, in /usr, looks in
// /usr/local first, where another Python may own site-packages.
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
	for _, tail := range SiteTails(python) {
		real, err := h.Resolve(root + tail)
		if err == nil && !seen[real] {
			seen[real] = true
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// SiteTails returns the package directories of one Python version below its root.
func SiteTails(python string) []string {
	return []string{"/lib64/python" + python + "/site-packages", "/lib/python" + python + "/site-packages",
		"/lib/python" + python + "/dist-packages", "/lib/python3/dist-packages"}
}

var fullVersion = lazyregexp.New(`^\d+\.\d+\.\d+`)

var pyvenvField = lazyregexp.New(`(?m)^\s*([\w-]+)\s*=\s*(.*?)\s*$`)

// venv reads pyvenv.cfg: lines such as "home = /usr/bin", "version = 3.12.3" (uv: "version_info = 3.12.3") and
// "include-system-site-packages = false".
// It is false for the lib directory that another version has left behind.
func (p *Prefix) venv(h *host.Host, failed *host.Errors) bool {
	data, err := h.ReadFile(p.Path + "/pyvenv.cfg")
	failed.Add(err)
	fields := map[string]string{}
	for _, m := range pyvenvField.FindAllStringSubmatch(string(data), -1) {
		fields[strings.ToLower(m[1])] = m[2]
	}
	if strings.EqualFold(fields["include-system-site-packages"], "true") {
		p.base = len(p.Sites)
		p.Sites = append(p.Sites, systemSites(h, path.Dir(path.Clean(fields["home"])), p.Python)...)
	}
	full := cmp.Or(fullVersion.FindString(fields["version"]), fullVersion.FindString(fields["version_info"]))
	switch short := version.ShortPython(full); {
	case full == "":
	case short == p.Python:
		p.Python = full
	case h.Exists(p.Path + "/lib/python" + short):
		return false
	}
	return true
}
