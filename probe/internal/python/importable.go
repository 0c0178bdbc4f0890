package python

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// modules are what programs import of a framework.
var modules = map[string][]string{"torch": {"torch"}, "tensorflow": {"tensorflow"}, "jax": {"jax", "jaxlib"}}

// hinder notes why Python does not import a build as it was installed, its dist-info directory (empty where it has
// none) and its modules being given.
func (s *site) hinder(h *host.Host, b *facts.Build, info string, names []string) {
	add := func(kind, of, file, by string) {
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: kind, Of: of, Path: file, By: by})
	}
	own := b.Name + " " + b.Version
	for _, name := range names {
		if file := closedModule(h, []string{s.dir}, name); file != "" {
			b.Hindrances = append(b.Hindrances, closedFile(h, own, file))
		}
		if file := path.Join(s.dir, name, "__init__.py"); info != "" && len(b.Hindrances) == 0 &&
			absent(h, file) && absent(h, file+"c") && isRecorded(h, info, name+"/__init__.py") {
			add(facts.HindranceGone, own, file, "")
		}
		if file := firstModule(h, s.directoriesBefore(), name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHidden, own, file, "")
		} else if file := firstModule(h, s.here, name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHere, own, file, "") // unless it is an editable installation's
		}
	}
	if info == "" || s.python == "" {
		return
	}
	dists := s.requiredOf(h, info)
	if b.Extension { // a framework's own module is Build.Python's
		dists = append([]string{info}, dists...)
	}
	for _, dist := range dists {
		if file, python := s.otherPython(h, dist); python != "" {
			add(facts.HindranceOtherPython, distOf(dist), file, python)
		}
	}
}

// directoriesBefore are the directories that Python looks into before this one.
func (s *site) directoriesBefore() []string { return s.path[:max(slices.Index(s.path, s.dir), 0)] }

// firstModule is the file that the first of the directories has for a module. A directory without __init__.py is part
// of a namespace, which gives way to any module behind it (PEP 420).
func firstModule(h *host.Host, dirs []string, name string) string {
	for _, dir := range dirs {
		for _, file := range []string{name + "/__init__.py", name + ".py"} {
			if file = path.Join(dir, file); h.Exists(file) {
				return file
			}
		}
	}
	return ""
}

// closedModule is what the first of the directories has of a module that this user may not read; empty where nothing is
// closed.
func closedModule(h *host.Host, dirs []string, name string) string {
	for _, dir := range dirs {
		for _, file := range []string{name + "/__init__.py", name + ".py"} {
			if file = path.Join(dir, file); isClosed(h, file) {
				return file
			}
		}
	}
	return ""
}

// findsModule reports whether a module is found in some directories, as Python looks for it, or some of the names that are
// imported from it. A directory without __init__.py is no more than a place for others: packaging/ of a source tree is
// not the module packaging.version.
func findsModule(h *host.Host, dirs []string, module string, names []string) bool {
	top, rest, _ := strings.Cut(module, ".")
	if firstModule(h, dirs, top) != "" {
		return true
	}
	for _, dir := range dirs {
		place := path.Join(dir, top)
		switch {
		case h.Exists(place+".pyc") || h.Exists(place+"/__init__.pyc") || len(h.GlobIn(dir, top+".*so")) > 0:
			return true
		case !h.Exists(place), isClosed(h, place+"/__init__.py"):
		case rest != "":
			if findsModule(h, []string{place}, rest, names) {
				return true
			}
		case names == nil || slices.ContainsFunc(names, func(n string) bool { return n == "*" || findsModule(h, []string{place}, n, nil) }):
			return true
		}
	}
	// setuptools brings it where Python does not any more
	return top == "distutils" && findsModule(h, dirs, "_distutils_hack", nil)
}

// topModule matches a module or package of a RECORD that is imported by its own name, "xgboost/__init__.py,".
var topModule = lazyregexp.New(`(?m)^(\w+)(?:/__init__)?\.py,`)

// modulesIn lists the modules that a distribution brings to the top of the import path.
func modulesIn(record []byte) []string {
	var list []string
	for m := range topModule.EachSubmatch(record) {
		list = append(list, string(m[1]))
	}
	return list
}

// hiding reports whether a directory before this one has a distribution of the same name: Python imports that one.
func (s *site) hiding(h *host.Host, name string) bool {
	return slices.ContainsFunc(s.directoriesBefore(), func(dir string) bool { return infoOf(h, dir, name) != "" })
}

// infoOf is the dist-info directory of a distribution in one directory, empty where it has none.
func infoOf(h *host.Host, dir, name string) string {
	entries, err := h.ReadDir(dir)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		dist, _, _ := strings.Cut(stem, "-")
		return ok && len(dist) == len(name) && distname.Normal(dist) == name
	})
	if i < 0 {
		return ""
	}
	return path.Join(dir, entries[i].Name())
}

var (
	requiredName = lazyregexp.New(`(?m)^Requires-Dist: ([A-Za-z0-9._-]+)(.*)$`)
	purelib      = []byte("Root-Is-Purelib: true")
)

// requiredOf are the dist-info directories, in the same place, of what a distribution requires and what holds compiled
// modules: NumPy's beside XGBoost's. NVIDIA's hold libraries, which are of no Python.
func (s *site) requiredOf(h *host.Host, info string) []string {
	head := headerOf(h.ReadQuietly(info + "/METADATA"))
	var list []string
	for _, m := range requiredName.FindAllSubmatch(head, -1) {
		name := distname.Normal(string(m[1]))
		if elsewhere.Match(m[2]) || strings.HasPrefix(name, "nvidia-") {
			continue
		}
		dist := infoOf(h, s.dir, name)
		if dist != "" && !slices.Contains(list, dist) && !bytes.Contains(h.ReadQuietly(dist+"/WHEEL"), purelib) {
			list = append(list, dist)
		}
	}
	return list
}

// otherPython tells for which Python a distribution's extension modules are, where none is for the environment's own:
// by their names in RECORD, or by the file that lies in the place of the first of them. Empty where they are for this
// one.
//
// A wheel for every Python may hold libraries whose names tell of one, and that its code loads by their paths, as
// torchao's _C_mxfp8.cpython-310-x86_64-linux-gnu.so is in 3.12: of such a wheel, what it lists is as its maker meant
// it.
func (s *site) otherPython(h *host.Host, info string) (file, other string) {
	if anyPython.Match(h.ReadQuietly(info + "/WHEEL")) {
		return s.unlistedModule(h, info)
	}
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		if !bytes.Contains(line, []byte(".cpython-")) { // nearly all of some ten thousand lines
			continue
		}
		name, _, _ := strings.Cut(string(line), ",")
		switch tag := tagOf(name); {
		case tag == version.ShortPython(s.python):
			return s.replacedModule(h, path.Join(path.Dir(info), name))
		case tag != "" && other == "":
			file, other = path.Join(path.Dir(info), name), tag
		}
	}
	return file, other
}

// anyPython matches the tag of a wheel that is for more than one Python, "Tag: cp310-abi3-manylinux_2_28_x86_64".
var anyPython = lazyregexp.New(`(?m)^Tag: \S+?-(abi3|none)-`)

// unlistedModule is a module for another Python that a distribution for every Python does not list, in the place of one that
// it lists, that this Python would import and that is gone.
func (s *site) unlistedModule(h *host.Host, info string) (file, python string) {
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		name, _, _ := strings.Cut(string(line), ",")
		if !strings.HasSuffix(name, ".abi3.so") && tagOf(name) != version.ShortPython(s.python) {
			continue
		}
		file, python = s.replacedModule(h, path.Join(path.Dir(info), name))
		if python != "" && !isRecorded(h, info, strings.TrimPrefix(file, path.Dir(info)+"/")) {
			return file, python
		}
	}
	return "", ""
}

// replacedModule is the module for another Python that lies where a distribution had one for this.
func (s *site) replacedModule(h *host.Host, file string) (found, python string) {
	if h.Exists(file) {
		return "", ""
	}
	dir, base := path.Split(file)
	stem, _, _ := strings.Cut(base, ".")
	for _, name := range h.GlobIn(path.Clean(dir), stem+".*.so") {
		switch tag := tagOf(name); {
		case tag == version.ShortPython(s.python), strings.HasSuffix(name, ".abi3.so"):
			return "", "" // this Python imports it
		case tag != "" && found == "":
			found, python = name, tag
		}
	}
	return found, python
}

// tagOf is the Python that an extension module is for by its name, "3.12" of "_umath.cpython-312-x86_64-linux-gnu.so".
func tagOf(name string) string {
	if !strings.Contains(name, ".cpython-") || !strings.HasSuffix(name, ".so") {
		return ""
	}
	m := extensionTag.FindStringSubmatch(path.Base(name))
	if m == nil {
		return ""
	}
	return m[1] + "." + m[2] + m[3]
}
