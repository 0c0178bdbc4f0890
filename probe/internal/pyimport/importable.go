package pyimport

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// Modules are what programs import of a framework.
var Modules = map[string][]string{"torch": {"torch"}, "tensorflow": {"tensorflow"}, "jax": {"jax", "jaxlib"}}

// CheckImport notes why Python does not import a build as it was installed, its dist-info directory (empty where it has
// none) and its modules being given.
func CheckImport(s *pyenv.Site, h *host.Host, b *facts.Build, info string, names []string) {
	add := func(kind, of, file, by string) {
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: kind, Of: of, Path: file, By: by})
	}
	own := b.Name + " " + b.Version
	for _, name := range names {
		if file := pyenv.ClosedModule(h, []string{s.Dir}, name); file != "" {
			b.Hindrances = append(b.Hindrances, pyenv.ClosedFile(h, own, file))
		}
		if file := path.Join(s.Dir, name, "__init__.py"); info != "" && len(b.Hindrances) == 0 &&
			pyenv.Absent(h, file) && pyenv.Absent(h, file+"c") && pydist.IsRecorded(h, info, name+"/__init__.py") {
			add(facts.HindranceGone, own, file, "")
		}
		if file := pyenv.FirstModule(h, s.DirectoriesBefore(), name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHidden, own, file, "")
		} else if file := pyenv.FirstModule(h, s.Here, name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHere, own, file, "") // unless it is an editable installation's
		}
	}
	if info == "" || s.Python == "" {
		return
	}
	dists := requiredOf(s, h, info)
	if b.Extension { // a framework's own module is Build.Python's
		dists = append([]string{info}, dists...)
	}
	for _, dist := range dists {
		if file, python := OtherPython(s, h, dist); python != "" {
			add(facts.HindranceOtherPython, pydist.DistOf(dist), file, python)
		}
	}
}

// requiredOf are the dist-info directories, in the same place, of what a distribution requires and what holds compiled
// modules: NumPy's beside XGBoost's. NVIDIA's hold libraries, which are of no Python.
func requiredOf(s *pyenv.Site, h *host.Host, info string) []string {
	head := pydist.HeaderOf(h.ReadQuietly(info + "/METADATA"))
	var list []string
	for _, m := range pydist.RequiredName.FindAllSubmatch(head, -1) {
		name := distname.Normal(string(m[1]))
		if pydist.Elsewhere.Match(m[2]) || strings.HasPrefix(name, "nvidia-") {
			continue
		}
		dist := pydist.InfoOf(h, s.Dir, name)
		if dist != "" && !slices.Contains(list, dist) && !bytes.Contains(h.ReadQuietly(dist+"/WHEEL"), pydist.Purelib) {
			list = append(list, dist)
		}
	}
	return list
}

// OtherPython tells for which Python a distribution's extension modules are, where none is for the environment's own:
// by their names in RECORD, or by the file that lies in the place of the first of them. Empty where they are for this
// one.
//
// A wheel for every Python may hold libraries whose names tell of one, and that its code loads by their paths, as
// torchao's _C_mxfp8.cpython-310-x86_64-linux-gnu.so is in 3.12: of such a wheel, what it lists is as its maker meant
// it.
func OtherPython(s *pyenv.Site, h *host.Host, info string) (file, other string) {
	if anyPython.Match(h.ReadQuietly(info + "/WHEEL")) {
		return unlistedModule(s, h, info)
	}
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		if !bytes.Contains(line, []byte(".cpython-")) { // nearly all of some ten thousand lines
			continue
		}
		name, _, _ := strings.Cut(string(line), ",")
		switch tag := tagOf(name); {
		case tag == version.ShortPython(s.Python):
			return replacedModule(s, h, path.Join(path.Dir(info), name))
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
func unlistedModule(s *pyenv.Site, h *host.Host, info string) (file, python string) {
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		name, _, _ := strings.Cut(string(line), ",")
		if !strings.HasSuffix(name, ".abi3.so") && tagOf(name) != version.ShortPython(s.Python) {
			continue
		}
		file, python = replacedModule(s, h, path.Join(path.Dir(info), name))
		if python != "" && !pydist.IsRecorded(h, info, strings.TrimPrefix(file, path.Dir(info)+"/")) {
			return file, python
		}
	}
	return "", ""
}

// replacedModule is the module for another Python that lies where a distribution had one for this.
func replacedModule(s *pyenv.Site, h *host.Host, file string) (found, python string) {
	if h.Exists(file) {
		return "", ""
	}
	dir, base := path.Split(file)
	stem, _, _ := strings.Cut(base, ".")
	for _, name := range h.GlobIn(path.Clean(dir), stem+".*.so") {
		switch tag := tagOf(name); {
		case tag == version.ShortPython(s.Python), strings.HasSuffix(name, ".abi3.so"):
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
	m := pyenv.ExtensionTag.FindStringSubmatch(path.Base(name))
	if m == nil {
		return ""
	}
	return m[1] + "." + m[2] + m[3]
}
