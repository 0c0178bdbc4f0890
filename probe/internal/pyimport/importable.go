package pyimport

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// Modules are what programs import of a framework.
var Modules = map[string][]string{"torch": {"torch"}, "tensorflow": {"tensorflow"}, "jax": {"jax", "jaxlib"}}

// CheckImport records why Python does not import a build as it was installed, given its dist-info directory ("" if it
// has none) and its modules.
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
			pyenv.Absent(h, file) && pyenv.Absent(h, file+"c") && s.Index(h).At(info).Record().Has(name+"/__init__.py") {
			add(facts.HindranceGone, own, file, "")
		}
		if file := pyenv.FirstModule(h, s.DirectoriesBefore(), name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHidden, own, file, "")
		} else if file := pyenv.FirstModule(h, s.Here, name); file != "" && path.Dir(file) != b.Path {
			add(facts.HindranceHere, own, file, "") // unless it is an editable installation's
		}
	}
	if info != "" && len(b.Hindrances) == 0 {
		b.Hindrances = append(b.Hindrances, hiddenRequirement(s, h, info)...)
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
			add(facts.HindranceOtherPython, s.Index(h).At(dist).String(), file, python)
		}
	}
}

// hiddenRequirement returns the first module of a required distribution that an earlier directory also has and that no
// distribution of that name brought there.
func hiddenRequirement(s *pyenv.Site, h *host.Host, info string) []facts.Hindrance {
	if len(s.Path) == 0 || s.Path[0] == path.Dir(info) { // nothing comes before, as nearly always
		return nil
	}
	index := s.Index(h)
	for _, dist := range RequiredFrom(s, h, info)[1:] {
		d := index.At(dist)
		for _, dir := range s.Path[:max(slices.Index(s.Path, d.Dir()), 0)] {
			list, _ := index.In(dir)
			if slices.ContainsFunc(list, func(o *pydist.Distribution) bool { return o.Name == d.Name }) {
				continue
			}
			for _, name := range d.Record().Modules() {
				if file := pyenv.FirstModule(h, []string{dir}, name); file != "" && !pydist.IsTest([]byte(name+"/")) {
					return []facts.Hindrance{{Kind: facts.HindranceHidden, Of: d.String(), Path: file}}
				}
			}
		}
	}
	return nil
}

// requiredOf returns the dist-info directories, in the same place, of a distribution's requirements with compiled
// modules: NumPy's beside XGBoost's. NVIDIA's contain libraries, which belong to no Python.
func requiredOf(s *pyenv.Site, h *host.Host, info string) []string {
	var list []string
	for _, r := range s.Index(h).At(info).Requires() {
		if r.Elsewhere() || strings.HasPrefix(r.Name, "nvidia-") {
			continue
		}
		d := s.Index(h).FindIn(s.Dir, r.Name)
		if d != nil && !slices.Contains(list, d.Path) && !d.Tags().Pure {
			list = append(list, d.Path)
		}
	}
	return list
}

// OtherPython returns the Python that a distribution's extension modules are for, if none is for the environment's: by
// their names in RECORD, or by the file that replaces the first of them. It returns "" if they are for this one.
//
// A wheel for every Python may contain libraries named for one that its code loads by path, as torchao's
// _C_mxfp8.cpython-310-x86_64-linux-gnu.so in 3.12. What such a wheel lists is intended.
func OtherPython(s *pyenv.Site, h *host.Host, info string) (file, other string) {
	d := s.Index(h).At(info)
	if d.Tags().AnyABI {
		return unlistedModule(s, h, d)
	}
	for _, name := range d.Record().AllLibraries() {
		switch tag := tagOf(name); {
		case tag == version.ShortPython(s.Python):
			return moduleInPlace(s, h, path.Join(path.Dir(info), name))
		case tag != "" && other == "":
			file, other = path.Join(path.Dir(info), name), tag
		}
	}
	return file, other
}

// unlistedModule returns an unlisted module for another Python in a distribution for every Python, if it replaces a
// listed module that this Python would import and that is gone.
func unlistedModule(s *pyenv.Site, h *host.Host, d *pydist.Distribution) (file, python string) {
	for _, name := range d.Record().AllLibraries() {
		if !strings.HasSuffix(name, ".abi3.so") && tagOf(name) != version.ShortPython(s.Python) {
			continue
		}
		file, python = moduleInPlace(s, h, path.Join(d.Dir(), name))
		if python != "" && !d.Record().Has(strings.TrimPrefix(file, d.Dir()+"/")) {
			return file, python
		}
	}
	return "", ""
}

// moduleInPlace returns the module for another Python that replaces one for this Python.
func moduleInPlace(s *pyenv.Site, h *host.Host, file string) (found, python string) {
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

// tagOf returns the Python that an extension module is for by its name, "3.12" of
// "_umath.cpython-312-x86_64-linux-gnu.so".
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
