package pyimport

import (
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pysource"
)

// injuredDistribution is a distribution some of whose sources or libraries are gone, or not as they were installed.
type injuredDistribution struct {
	info    string
	record  *pydist.FileIndex
	damaged []pydist.Damage
}

// injuredFrom returns a distribution and those that it requires, at any depth. Of frameworks the libraries are looked
// at otherwise.
func injuredFrom(s *pyenv.Site, h *host.Host, info string) []injuredDistribution {
	var list []injuredDistribution
	required := RequiredFrom(s, h, info)
	if numpy := s.InfoOf(h, "numpy"); numpy != "" && !slices.Contains(required, numpy) { // torch uses it where it is there
		required = append(slices.Clone(required), numpy)
	}
	for _, dist := range required {
		d := s.Index(h).At(dist)
		if Modules[d.Name] != nil && dist == info { // its sources are followed anyway, and its libraries are loaded otherwise
			continue
		}
		if damaged := s.Index(h).DamagedFront(d); len(damaged) > 0 {
			list = append(list, injuredDistribution{dist, d.Record().Index(), damaged})
		}
	}
	return list
}

// LibrariesAsShipped reports whether the libraries of a distribution have the sizes that RECORD lists. It looks once.
func LibrariesAsShipped(s *pyenv.Site, h *host.Host, info string) bool {
	whole, known := s.Whole[info]
	if known {
		return whole
	}
	damaged := slices.ContainsFunc(s.Index(h).Damaged(s.Index(h).At(info)), func(d pydist.Damage) bool { return pydist.LibraryFile.MatchString(d.Name) })
	if s.Whole == nil {
		s.Whole = map[string]bool{}
	}
	s.Whole[info] = !damaged
	return s.Whole[info]
}

// noteLost records that a module which the import needs, or may need, belongs to another distribution and is gone.
// Python then raises ModuleNotFoundError, unless something else fails.
func (w *importTracer) noteLost(dir, module string, certain, another bool) {
	file := strings.ReplaceAll(module, ".", "/")
	i := w.injuredModule(dir, file)
	if i == nil {
		return
	}
	bad := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: w.s.Index(w.h).At(i.info).String(), Path: path.Join(dir, i.record.FileOf(file)), By: "it is gone"}
	switch {
	case certain && (another || !w.lacking):
		w.altered = append(w.altered, bad)
	case !certain && !w.tried:
		w.doubt(bad)
	}
}

// injuredModule returns the damaged distribution that has a module by its RECORD, or nil.
func (w *importTracer) injuredModule(dir, module string) *injuredDistribution {
	for i := range w.injured {
		if w.injured[i].record.FileOf(module) != "" && path.Dir(w.injured[i].info) == dir {
			return &w.injured[i]
		}
	}
	return nil
}

// noteRefused notes that an extension module which the import is certain to load needs a library that is gone, or that the
// loader does not take, of a distribution that is injured: its own, or one that it requires. A library that is whole, and
// that the loader does not find, the code of such packages loads first.
func (w *importTracer) noteRefused(file string) {
	if len(w.injured) == 0 {
		return
	}
	p, err := loader.PythonProcess(w.h, w.s)
	if err != nil {
		return
	}
	if _, err := p.Open(file, nil, ldso.Local); err != nil {
		return
	}
	for n := 0; n < len(p.Missing); n++ { // what is loaded can miss more
		m := p.Missing[n]
		i, recorded := w.injuredLibrary(path.Base(m.Name))
		if i == nil || p.Loaded(path.Base(m.Name)) != nil {
			continue
		}
		bad := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: w.s.Index(w.h).At(i.info).String(), Path: recorded, By: "it is gone"}
		if taken, reason := m.Unloadable(); taken != "" {
			bad.Path, bad.By = pyenv.RealPath(w.h, taken), reason
		} else if reason := refusal(w.s, w.h, recorded); reason != "" {
			bad.By = reason
		} else if w.h.Exists(recorded) {
			if _, err := p.Open(recorded, nil, ldso.Global); err != nil {
				return
			}
			continue
		}
		w.altered = append(w.altered, bad)
		return
	}
}

// noteUninitialized records that an extension module which the import certainly loads is not the installed file and
// does not define Python's initialization function.
func (w *importTracer) noteUninitialized(dir, name string) {
	d := w.s.Index(w.h).At(w.info)
	if i := w.injuredModule(dir, moduleOf(name)); i != nil {
		d = w.s.Index(w.h).At(i.info)
	}
	if found := uninitialized(w.s, w.h, d, name); found != nil && d.Dir() == dir {
		if d.Path != w.info {
			found.Of = d.String()
		}
		w.altered = append(w.altered, *found)
	}
}

// moduleOf returns the path of the module that a library is, without its suffixes: "torch/_C" of "torch/_C.abi3.so".
func moduleOf(name string) string {
	stem, _, _ := strings.Cut(path.Base(name), ".")
	return path.Join(path.Dir(name), stem)
}

// uninitialized reports whether a library of a distribution was changed and does not define the function with which
// Python initializes the module.
func uninitialized(s *pyenv.Site, h *host.Host, d *pydist.Distribution, name string) *facts.Hindrance {
	if s.Index(h).Intact(d, name).State != pydist.Altered {
		return nil
	}
	p, err := loader.PythonProcess(h, s)
	if err != nil {
		return nil
	}
	file, symbol := path.Join(d.Dir(), name), "PyInit_"+path.Base(moduleOf(name))
	o, err := p.Open(file, nil, ldso.Local)
	if o == nil || err != nil {
		return nil
	}
	if defined, err := p.Defines(o, symbol); err != nil || defined {
		return nil
	}
	return &facts.Hindrance{Kind: facts.HindranceSpoiled, Path: file, By: "it does not define " + symbol}
}

// injuredLibrary returns the damaged distribution that has a library by its RECORD, and its path, or nil.
func (w *importTracer) injuredLibrary(base string) (*injuredDistribution, string) {
	for i := range w.injured {
		if recorded := w.injured[i].record.Named[base]; len(recorded) > 0 {
			return &w.injured[i], path.Join(path.Dir(w.injured[i].info), recorded[0])
		}
	}
	return nil, ""
}

// uncaught returns the damage that ends the import although a failure is caught. A truncated library ends the process
// in any case: the loader maps it, and the kernel has no data for it (SIGBUS). Any other failure passes a handler that
// catches only a missing module, as torch does for NumPy: torch also works without a NumPy module, unless NumPy turns
// that into another error.
func (w *importTracer) uncaught(mains []string, by string) []facts.Hindrance {
	if len(w.injured) == 0 {
		return nil
	}
	cutOff := func(h facts.Hindrance) bool { return strings.HasPrefix(h.By, ldso.CutOff) }
	lacked := w.again(func(i pysource.Import) bool { return i.Lacked })
	lacked.lacking = true
	tried := w.again(func(i pysource.Import) bool { return i.Tried })
	return append(lacked.injuries(mains, by, func(facts.Hindrance) bool { return true }), tried.injuries(mains, by, cutOff)...)
}

// again returns a walker that begins anew, for which some imports are as good as certain.
func (w *importTracer) again(counts func(pysource.Import) bool) *importTracer {
	return &importTracer{h: w.h, s: w.s, info: w.info, listed: w.listed, seen: map[string]bool{}, foreign: map[string]bool{}, places: map[string]string{},
		changed: map[string]pysource.Summary{}, lostInit: map[string]string{}, parsed: w.parsed, injured: w.injured, loaded: w.loaded, counts: counts}
}

// injuries returns the damage of one kind that the import meets.
func (w *importTracer) injuries(mains []string, by string, kind func(facts.Hindrance) bool) []facts.Hindrance {
	for _, name := range mains {
		w.module(name, nil, by, true)
	}
	return slices.DeleteFunc(w.altered, func(h facts.Hindrance) bool { return h.Kind != facts.HindranceSpoiled || h.Of == "" || !kind(h) })
}

// besideLoaded returns a truncated extension module of a distribution from which others are loaded. What these import
// is in no source, and if they import it, the process ends. Nobody truncates a library on purpose. A missing one counts
// if a loaded module hides what it imports.
func (w *importTracer) besideLoaded() *facts.Hindrance {
	for _, i := range w.injured {
		dir := path.Dir(i.info)
		files := slices.Sorted(maps.Values(i.record.Modules))
		if !slices.ContainsFunc(files, func(name string) bool { return w.loaded[path.Join(dir, name)] }) {
			continue
		}
		for _, name := range files {
			file := path.Join(dir, name)
			reason := refusal(w.s, w.h, file)
			if w.unreadable && !testModule.MatchString(name) && pyenv.Absent(w.h, file) {
				reason = "it is gone"
			} else if !strings.HasPrefix(reason, ldso.CutOff) {
				continue
			}
			return &facts.Hindrance{Kind: facts.HindrancePerhaps, Of: w.s.Index(w.h).At(i.info).String(), Path: file, By: reason}
		}
	}
	return nil
}

// testModule matches the extension modules that only tests import, "numpy/_core/_umath_tests.cpython-312-….so".
var testModule = lazyregexp.New(`(^|/)tests?/|tests?\.`)

// brokenRequirement returns what ends the import of a required distribution by itself: functions import such, and a
// missing source may have been left out on purpose if nothing imports it.
func (w *importTracer) brokenRequirement(b *facts.Build) *facts.Hindrance {
	for _, i := range w.injured {
		if i.info == w.info || path.Dir(i.info) != w.s.Dir {
			continue
		}
		d := w.s.Index(w.h).At(i.info)
		sub := newTracer(w.s, w.h, i.info, d.Record())
		sub.injured, sub.first = []injuredDistribution{i}, true
		for _, name := range listTopPackages(i.record) {
			sub.module(name, nil, b.From, true)
		}
		if end := importEnd(w.s, w.h, &sub.ImportTrace); end != nil && (len(sub.gone)+len(sub.altered) > 0) {
			return &facts.Hindrance{Kind: facts.HindrancePerhaps, Of: d.String(), Path: end.Path, By: end.By}
		}
	}
	return nil
}

// listTopPackages returns the packages and modules by which a distribution is imported: those at the top of the import
// path or, for a part of a namespace, the least deep ones: "cuda.pathfinder".
func listTopPackages(x *pydist.FileIndex) []string {
	if tops := x.TopModules(); len(tops) > 0 {
		return tops
	}
	var list []string
	least := 0
	for _, source := range slices.Sorted(maps.Keys(x.Sources)) {
		name, ok := strings.CutSuffix(source, "/__init__.py")
		depth := strings.Count(name, "/")
		if !ok || len(list) > 0 && depth > least {
			continue
		}
		if depth < least {
			list = nil
		}
		least, list = depth, append(list, strings.ReplaceAll(name, "/", "."))
	}
	return list
}

// refusal returns why the loader refuses an existing file, or "".
func refusal(s *pyenv.Site, h *host.Host, file string) string {
	p, err := loader.PythonProcess(h, s)
	if err != nil {
		return ""
	}
	_, err = p.Find(file, nil)
	missing := ldso.Missing{Name: file, Err: err}
	_, reason := missing.Unloadable()
	return reason
}
