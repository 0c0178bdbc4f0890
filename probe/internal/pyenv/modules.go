package pyenv

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// DirectoriesBefore returns the directories that Python looks into before this one.
func (s *Site) DirectoriesBefore() []string { return s.Path[:max(slices.Index(s.Path, s.Dir), 0)] }

// FirstModule returns the file of a module in the first directory that has one. A directory without __init__.py is part
// of a namespace, which any later module replaces (PEP 420).
func FirstModule(h *host.Host, dirs []string, name string) string {
	for _, dir := range dirs {
		for _, file := range []string{name + "/__init__.py", name + ".py"} {
			if file = path.Join(dir, file); h.Exists(file) {
				return file
			}
		}
	}
	return ""
}

// ClosedModule returns a module's file in the first directory that this user may not read, or "".
func ClosedModule(h *host.Host, dirs []string, name string) string {
	for _, dir := range dirs {
		for _, file := range []string{name + "/__init__.py", name + ".py"} {
			if file = path.Join(dir, file); IsClosed(h, file) {
				return file
			}
		}
	}
	return ""
}

// FindsModule reports whether a module is found in some directories, as Python looks for it, or some of the names that are
// imported from it. A directory without __init__.py is no more than a place for others: packaging/ of a source tree is
// not the module packaging.version.
func FindsModule(h *host.Host, dirs []string, module string, names []string) bool {
	top, rest, _ := strings.Cut(module, ".")
	if FirstModule(h, dirs, top) != "" {
		return true
	}
	for _, dir := range dirs {
		place := path.Join(dir, top)
		switch {
		case h.Exists(place+".pyc") || h.Exists(place+"/__init__.pyc") || len(h.GlobIn(dir, top+".*so")) > 0:
			return true
		case !h.Exists(place), IsClosed(h, place+"/__init__.py"):
		case rest != "":
			if FindsModule(h, []string{place}, rest, names) {
				return true
			}
		case names == nil || slices.ContainsFunc(names, func(n string) bool { return n == "*" || FindsModule(h, []string{place}, n, nil) }):
			return true
		}
	}
	// setuptools brings it where Python does not any more
	return top == "distutils" && FindsModule(h, dirs, "_distutils_hack", nil)
}

// Hiding reports whether a directory before this one has a distribution of the same name: Python imports that one.
func (s *Site) Hiding(h *host.Host, name string) bool {
	return slices.ContainsFunc(s.DirectoriesBefore(), func(dir string) bool { return s.Index(h).FindIn(dir, name) != nil })
}

var ExtensionTag = lazyregexp.New(`\.cpython-(\d)(\d+)(t?)-`)

// ExtensionPython finds the CPython ABI of an extension module named like "_C.cpython-312-x86_64-linux-gnu.so".
func ExtensionPython(h *host.Host, pattern string) string {
	dir, base := path.Split(pattern)
	for _, name := range h.GlobIn(path.Clean(dir), base) {
		if m := ExtensionTag.FindStringSubmatch(path.Base(name)); m != nil {
			return m[1] + "." + m[2] + m[3]
		}
	}
	return ""
}
