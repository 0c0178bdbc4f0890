package python

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pysource"
)

// maxSources bounds the source files of one distribution that are read; torch's import comes to some thousand.
const maxSources = 3000

// reach is what the import of a distribution's modules comes to, by their sources. Sources of other distributions are
// not read: of these it is looked whether they are there.
type reach struct {
	read     bool              // some source of its own was read, so that the rest tells something
	certain  []string          // extension modules and libraries of its own that the import loads, in order, below the site
	possible []string          // those that it may load, under a condition or later
	gone     []string          // files of its RECORD that the import loads and that are gone
	absent   []absentFrom      // modules of nobody's that it imports
	altered  []facts.Hindrance // sources of its own that are not as they were installed, and that end the import
	modules  []string          // of other distributions, by their first names: those that the import is certain to need
}

// lazyReach reads the sources when it is first asked; nil where there are none.
type lazyReach func() *reach

func (l lazyReach) now() *reach {
	if l == nil {
		return nil
	}
	return l()
}

// absentFrom is a module that is nowhere in the environment, the file that imports it, and the working directory where it
// lies there.
type absentFrom struct{ module, file, here string }

// reached reads the sources of a distribution as far as the import of its main module goes.
func (s *site) reached(h *host.Host, b *facts.Build, record []byte) *reach {
	return s.reachedFrom(h, b, record, nil)
}

// reachedFrom reads them as far as the import of some modules goes; nil stands for the distribution's main ones.
func (s *site) reachedFrom(h *host.Host, b *facts.Build, record []byte, mains []string) *reach {
	w := walker{h: h, s: s, listed: indexRecord(record), seen: map[string]bool{}, foreign: map[string]bool{},
		changed: map[string]pysource.Summary{}}
	if mains == nil {
		mains = w.mains(b)
	}
	for _, name := range mains {
		w.module(name, nil, b.From, true)
	}
	w.possible = slices.DeleteFunc(w.possible, func(name string) bool { return slices.Contains(w.certain, name) })
	return &w.reach
}

type walker struct {
	reach
	h       *host.Host
	s       *site
	listed  *recordIndex
	seen    map[string]bool             // modules, by whether the import is certain to come to them: "+a.b", "-a.b"
	foreign map[string]bool             // modules of others that were looked for
	changed map[string]pysource.Summary // sources that have another size, by module
	sources int
}

// mains are the modules by which a distribution is imported: the one that bears its name, or the beginning of it in whole
// words, openmm of openmm-unofficial-cu12; else the only one, or the only one with libraries.
func (w *walker) mains(b *facts.Build) []string {
	names := w.listed.topModules()
	words := strings.Split(distname.Normal(namedForCUDA.ReplaceAllString(strings.TrimSuffix(b.Name, "-gpu"), "")), "-")
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ".", "").Replace(distname.Normal(s))
	}
	for n := len(words); n > 0; n-- {
		own := strings.Join(words[:n], "")
		if i := slices.IndexFunc(names, func(name string) bool { return plain(name) == own }); i >= 0 {
			return names[i : i+1]
		}
	}
	if len(names) > 1 {
		names = slices.DeleteFunc(names, func(name string) bool { return !w.listed.hasLibraries(name) })
	}
	if len(names) == 1 {
		return names
	}
	return nil
}

// module follows the import of a module, of some names in it and of the packages around it.
func (w *walker) module(name string, names []string, by string, certain bool) {
	top, _, _ := strings.Cut(name, ".")
	if !w.listed.tops[top] {
		if certain {
			w.other(name, names, by)
		}
		return
	}
	for end := 0; end <= len(name); end++ {
		if end == len(name) || name[end] == '.' {
			if !w.load(name[:end], certain) {
				return
			}
		}
	}
	for _, n := range names {
		if w.listed.fileOf(strings.ReplaceAll(name, ".", "/")+"/"+n) != "" {
			w.load(name+"."+n, certain)
		} else if sum, ok := w.changed[name]; ok && certain && !sum.MayBind(n) {
			file := w.sourceOf(name)
			w.altered = append(w.altered, facts.Hindrance{Kind: facts.HindranceName, Path: file, By: n})
		}
	}
}

// other notes the need of another distribution's module, and whether the environment does not have it.
func (w *walker) other(name string, names []string, by string) {
	top, _, _ := strings.Cut(name, ".")
	if pysource.Standard(top, w.s.python) || w.foreign[name] {
		return
	}
	w.foreign[name] = true
	if !slices.Contains(w.modules, top) {
		w.modules = append(w.modules, top)
	}
	if slices.ContainsFunc(w.absent, func(a absentFrom) bool { return a.module == top }) || findsModule(w.h, w.s.path, name, names) {
		return
	}
	a := absentFrom{module: top, file: by}
	if findsModule(w.h, w.s.here, name, names) {
		a.here = w.s.here[0]
	}
	w.absent = append(w.absent, a)
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
	if recordedFile := w.listed.fileOf(file); recordedFile != "" && certain && !w.h.Exists(full+".pyc") {
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

// source reads one file and follows what it imports, in its order.
func (w *walker) source(name, file string, isPackage, certain bool) {
	if w.sources++; w.sources > maxSources {
		return
	}
	m, err := w.imports(name, file, certain)
	if err != nil {
		return
	}
	w.read = true
	for _, i := range m.Imports {
		base := i.Module
		if i.Level > 0 {
			if base = relative(name, isPackage, i); base == "" {
				continue
			}
		}
		w.module(base, i.Names, file, certain && i.Certain)
	}
	if m.Opens {
		for _, library := range m.Libraries {
			w.open(path.Base(library), certain && m.OpensFirst)
		}
	}
}

// imports reads a source. Of most sources of an image there is the summary alone.
func (w *walker) imports(name, file string, certain bool) (m pysource.Module, err error) {
	f, err := w.h.Open(file)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if kept, ok := f.(interface{ Summary() *pysource.Summary }); ok {
		if sum := kept.Summary(); sum != nil {
			info, err := f.Stat()
			if err == nil && w.resized(file, info.Size()) {
				w.compare(name, file, *sum, certain)
			}
			return sum.Module, err
		}
	}
	data, err := host.Whole(f, file, nil)
	if err == nil && w.resized(file, int64(len(data))) {
		w.compare(name, file, pysource.Summarize(data), certain)
	}
	return pysource.Parse(data), err
}

// resized reports whether a source has another size than RECORD says.
func (w *walker) resized(file string, size int64) bool {
	recorded := w.listed.sources[strings.TrimPrefix(file, w.s.dir+"/")]
	return recorded != "" && recorded != strconv.FormatInt(size, 10)
}

// compare notes a source that is not as it was installed: what is imported from it may be gone. One that ends in the
// middle of a statement ends the import.
func (w *walker) compare(name, file string, sum pysource.Summary, certain bool) {
	w.changed[name] = sum
	if certain && sum.Unfinished {
		w.altered = append(w.altered, facts.Hindrance{Kind: facts.HindranceSpoiled, Path: file, By: "it ends in the middle of a statement"})
	}
}

// sourceOf is the file of a module of its own.
func (w *walker) sourceOf(name string) string {
	full := path.Join(w.s.dir, strings.ReplaceAll(name, ".", "/"))
	if source := full + "/__init__.py"; w.h.Exists(source) {
		return source
	}
	return full + ".py"
}

// open notes a library of its own that is opened by its name, where one alone bears it.
func (w *walker) open(base string, certain bool) {
	found := w.listed.named[base]
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
