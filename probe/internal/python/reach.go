package python

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pysource"
)

// maxSources bounds the source files of one distribution that are read; vLLM's import comes to some hundred.
const maxSources = 400

// reach is what the import of a distribution's modules comes to, by their sources. Sources of other distributions are
// not read: of these it is looked whether they are there.
type reach struct {
	read     bool         // some source of its own was read, so that the rest tells something
	certain  []string     // extension modules and libraries of its own that the import loads, in order, below the site
	possible []string     // those that it may load, under a condition or later
	gone     []string     // files of its RECORD that the import loads and that are gone
	absent   []absentFrom // modules of nobody's that it imports
	modules  []string     // of other distributions, by their first names: those that the import is certain to need
}

// lazyReach reads the sources when it is first asked; nil where there are none.
type lazyReach func() *reach

func (l lazyReach) now() *reach {
	if l == nil {
		return nil
	}
	return l()
}

// absentFrom is a module that is nowhere, and the file that imports it.
type absentFrom struct{ module, file string }

// reached reads the sources of a distribution as far as the import of its main module goes.
func (s *site) reached(h *host.Host, b *facts.Build, record []byte) *reach {
	w := walker{h: h, s: s, record: record, own: map[string]bool{}, seen: map[string]bool{}}
	for line := range bytes.Lines(record) {
		top, _, below := bytes.Cut(line, []byte("/"))
		if !below {
			top, _, _ = bytes.Cut(line, []byte("."))
		}
		if len(top) < 200 {
			w.own[string(top)] = true
		}
	}
	for _, name := range w.mains(b) {
		w.module(name, b.From, true)
	}
	w.possible = slices.DeleteFunc(w.possible, func(name string) bool { return slices.Contains(w.certain, name) })
	return &w.reach
}

type walker struct {
	reach
	h       *host.Host
	s       *site
	record  []byte
	own     map[string]bool // the first names of its files
	seen    map[string]bool // modules, by whether the import is certain to come to them: "+a.b", "-a.b"
	sources int
}

// mains are the modules by which a distribution is imported: the one that bears its name, or the only one.
func (w *walker) mains(b *facts.Build) []string {
	names := modulesIn(w.record)
	for line := range bytes.Lines(w.record) { // extension modules at the top
		file, _, _ := bytes.Cut(line, []byte(","))
		if name, kind, _ := bytes.Cut(file, []byte(".")); bytes.HasSuffix(kind, []byte("so")) && !bytes.ContainsAny(file, "/") {
			names = append(names, string(name))
		}
	}
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ".", "").Replace(distname.Normal(s))
	}
	own := plain(namedForCUDA.ReplaceAllString(strings.TrimSuffix(b.Name, "-gpu"), ""))
	i := slices.IndexFunc(names, func(name string) bool { return plain(name) == own })
	switch {
	case i >= 0:
		return names[i : i+1]
	case len(names) == 1:
		return names
	}
	return nil
}

// module follows the import of a module and of the packages around it.
func (w *walker) module(name, by string, certain bool) {
	top, _, _ := strings.Cut(name, ".")
	if !w.own[top] {
		w.foreign(top, by, certain)
		return
	}
	for end := 0; end <= len(name); end++ {
		if end == len(name) || name[end] == '.' {
			if !w.load(name[:end], certain) {
				return
			}
		}
	}
}

// foreign notes the need of another distribution's module, and whether it is nowhere.
func (w *walker) foreign(top, by string, certain bool) {
	if !certain || pysource.Standard(top) || slices.Contains(w.modules, top) {
		return
	}
	w.modules = append(w.modules, top)
	there := func(dir string) bool {
		return w.h.Exists(path.Join(dir, top)) || w.h.Exists(path.Join(dir, top+".py")) || len(w.h.GlobIn(dir, top+".*so")) > 0 ||
			len(w.h.GlobIn(dir, top+".pyc")) > 0
	}
	if !slices.ContainsFunc(w.s.path, there) && !slices.ContainsFunc(w.s.here, there) {
		w.absent = append(w.absent, absentFrom{top, by})
	}
}

// load follows one module of the distribution's own. It reports whether there is a file of it, or a directory.
func (w *walker) load(name string, certain bool) bool {
	mark := map[bool]string{true: "+", false: "-"}[certain] + name
	if w.seen[mark] || w.seen["+"+name] {
		return true
	}
	w.seen[mark] = true
	file := strings.ReplaceAll(name, ".", "/")
	full := path.Join(w.s.dir, file)
	if source := full + "/__init__.py"; w.h.Exists(source) {
		w.source(name, source, true, certain)
		return true
	}
	if found := w.extension(file); found != "" {
		w.take(found, certain)
		return true
	}
	if w.h.Exists(full + ".py") {
		w.source(name, full+".py", false, certain)
		return true
	}
	if w.h.Exists(full) { // a namespace
		return true
	}
	if recordedFile := w.listed(file); recordedFile != "" && certain {
		w.gone = append(w.gone, recordedFile)
	}
	return false
}

// take notes a library of its own.
func (w *walker) take(name string, certain bool) {
	list := &w.possible
	if certain {
		list = &w.certain
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// extension is the file that Python takes for an extension module, below the site; empty where there is none.
func (w *walker) extension(file string) string {
	python := strings.ReplaceAll(version.ShortPython(w.s.python), ".", "")
	var stable, plain string
	for _, full := range w.h.GlobIn(w.s.dir, file+".*so") {
		switch middle := strings.TrimSuffix(strings.TrimPrefix(full, path.Join(w.s.dir, file)), "so"); {
		case python != "" && strings.HasPrefix(middle, ".cpython-"+python+"-"):
			return strings.TrimPrefix(full, w.s.dir+"/")
		case middle == ".abi3.":
			stable = strings.TrimPrefix(full, w.s.dir+"/")
		case middle == ".":
			plain = strings.TrimPrefix(full, w.s.dir+"/")
		}
	}
	if stable != "" {
		return stable
	}
	return plain
}

// listed is the extension module that the RECORD lists for a module; empty where it lists none.
func (w *walker) listed(file string) string {
	rest, found := lineBeginning(w.record, file+".")
	name, _, _ := bytes.Cut(rest, []byte(","))
	if !found || !bytes.HasSuffix(name, []byte("so")) {
		return ""
	}
	return file + "." + string(name)
}

// source reads one file and follows what it imports, in its order.
func (w *walker) source(name, file string, isPackage, certain bool) {
	if w.sources++; w.sources > maxSources {
		return
	}
	data, err := w.h.ReadFile(file)
	if err != nil {
		return
	}
	w.read = true
	m := pysource.Parse(data)
	for _, i := range m.Imports {
		base := i.Module
		if i.Level > 0 {
			if base = relative(name, isPackage, i); base == "" {
				continue
			}
		}
		w.module(base, file, certain && i.Certain)
		if top, _, _ := strings.Cut(base, "."); !w.own[top] {
			continue
		}
		for _, n := range i.Names {
			if w.isModule(base, n) {
				w.load(base+"."+n, certain && i.Certain)
			}
		}
	}
	if m.Opens {
		for _, library := range m.Libraries {
			w.open(path.Base(library), certain && m.OpensFirst)
		}
	}
}

// isModule reports whether a name that is imported from a package can be a module of it: a file is there, or was.
func (w *walker) isModule(base, name string) bool {
	file := strings.ReplaceAll(base, ".", "/") + "/" + name
	full := path.Join(w.s.dir, file)
	return w.h.Exists(full+".py") || w.h.Exists(full+"/__init__.py") || w.extension(file) != "" || w.listed(file) != ""
}

// open notes a library of its own that is opened by its name, where one alone bears it.
func (w *walker) open(base string, certain bool) {
	var found []string
	for line := range bytes.Lines(w.record) {
		if !bytes.Contains(line, []byte(base+",")) {
			continue
		}
		if name := recordedName(line); path.Base(name) == base {
			found = append(found, name)
		}
	}
	for _, name := range found {
		w.take(name, certain && len(found) == 1)
	}
}

// relative is the module that a relative import names; empty where it leads out of the package.
func relative(name string, isPackage bool, i pysource.Import) string {
	parts := strings.Split(name, ".")
	up := i.Level
	if isPackage {
		up--
	}
	if up >= len(parts) {
		return ""
	}
	base := strings.Join(parts[:len(parts)-up], ".")
	if i.Module == "" {
		return base
	}
	return base + "." + i.Module
}

// loads are those of a list of libraries that the import comes to, or may come to; all of them where its sources tell of
// none: they may be opened by names that are put together.
func (r *reach) loads(names []string) []string {
	if r == nil || !r.read {
		return names
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.Contains(r.certain, name) && !slices.Contains(r.possible, name)
	})
	if len(kept) == 0 {
		return names
	}
	return kept
}
