package pyimport

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pysource"
)

// maxSources limits how many source files of one distribution are read. torch's import reads about a thousand.
const maxSources = 3000

// ImportTrace is the result of following the import of a distribution's modules through their sources. It reads the
// sources of other distributions if a requirement is unmet; otherwise it only checks that these exist.
type ImportTrace struct {
	Read     bool              // some source of its own was read, so that the rest tells something
	Certain  []string          // extension modules and libraries of its own that the import loads, in order, below the site
	possible []string          // those that it may load, under a condition or later
	gone     []string          // files of its RECORD that the import loads and that are gone
	absent   []absentFrom      // modules of nobody's that it imports
	altered  []facts.Hindrance // sources that are not as the import needs them, and that end it
	perhaps  *facts.Hindrance  // a module that the import may come to, and that would end it
	doubtful *facts.Hindrance  // a source that the import runs and that is empty, or a damaged one that it may run
	unmet    []pyenv.Unmet     // requirements that the environment does not meet
	Modules  []string          // of other distributions, by their first names: those that the import is certain to need
	unnamed  bool              // it opens a library by a name that is put together
	helped   bool              // what it comes to, or may, imports modules of others, or opens libraries that are not its own
}

// LazyTrace reads the sources when it is first asked; nil where there are none.
type LazyTrace func() *ImportTrace

func (l LazyTrace) Now() *ImportTrace {
	if l == nil {
		return nil
	}
	return l()
}

// absentFrom is a module that is missing from the environment, the file that imports it, and the working directory if
// the module is there.
type absentFrom struct{ module, file, here string }

// TraceImport reads the sources of a distribution as far as the import of its main module goes.
func TraceImport(s *pyenv.Site, h *host.Host, b *facts.Build, record *pydist.Record) *ImportTrace {
	return traceFrom(s, h, b, b.Path, record, nil, false)
}

// traceFrom follows the import of some modules; nil means the distribution's main ones. With first it stops at the
// first thing that ends the import.
func traceFrom(s *pyenv.Site, h *host.Host, b *facts.Build, info string, record *pydist.Record, mains []string, first bool) *ImportTrace {
	w := newTracer(s, h, info, record)
	w.unmet, w.injured = unmetFrom(s, h, info), injuredFrom(s, h, info)
	if mains == nil {
		mains = w.mains(b)
	}
	w.first = first
	for _, name := range mains {
		w.module(name, nil, b.From, true)
	}
	if !w.ended() {
		w.altered = append(w.altered, w.uncaught(mains, b.From)...)
		w.perhaps = w.besideLoaded()
	}
	if len(w.gone)+len(w.altered) == 0 && w.doubtful == nil {
		w.doubtful = cmp.Or(besideTrace(s, h, info, w.injured), w.brokenRequirement(b))
	}
	w.possible = slices.DeleteFunc(w.possible, func(name string) bool { return slices.Contains(w.Certain, name) })
	return &w.ImportTrace
}

// newTracer returns a tracer of a distribution that has come to nothing yet.
func newTracer(s *pyenv.Site, h *host.Host, info string, record *pydist.Record) *importTracer {
	return &importTracer{h: h, s: s, info: info, listed: record.Index(), seen: map[string]bool{}, foreign: map[string]bool{},
		places: map[string]string{}, changed: map[string]pysource.Summary{}, loaded: map[string]bool{}, lostInit: map[string]string{}, parsed: map[string]pysource.Module{}}
}

type importTracer struct {
	ImportTrace
	h        *host.Host
	s        *pyenv.Site
	info     string // the dist-info directory of the distribution
	listed   *pydist.FileIndex
	seen     map[string]bool              // modules, by whether the import is certain to come to them: "+a.b", "-a.b"
	foreign  map[string]bool              // modules of others that were looked for
	places   map[string]string            // by the first name of a module: the directory of the import path that has it
	changed  map[string]pysource.Summary  // sources that have another size, by module
	injured  []injuredDistribution        // of what it requires
	loaded   map[string]bool              // the extension modules that were come to
	lostInit map[string]string            // packages whose first file is gone, by module
	parsed   map[string]pysource.Module   // sources that were read
	known    map[string]*pysource.Summary // summaries of sources that were asked for names
	first    bool                         // the first thing that ends the import is enough
	counts   func(pysource.Import) bool   // which imports are as good as certain; nil where none is
	lacking  bool                         // a module that is not there ends nothing: who imports it looks for just that
	tried    bool                         // a failure is caught
	renamed  bool                         // a failure would come out of the sources that are read as another one
	sources  int

	lost       int  // modules of absent that end the import
	unreadable bool // an extension module was loaded that does not tell which others it imports
}

// mains returns the modules by which a distribution is imported: the one with its name, nixl_cu13 for nixl-cu13, or
// with the beginning of it in whole words, openmm for openmm-unofficial-cu12; otherwise the only one, or the only one
// with libraries.
func (w *importTracer) mains(b *facts.Build) []string {
	names := w.listed.TopModules()
	bare := pydist.NamedForCUDA.ReplaceAllString(strings.TrimSuffix(b.Name, "-gpu"), "")
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ".", "").Replace(distname.Normal(s))
	}
	own := []string{plain(b.Name)}
	for words := strings.Split(distname.Normal(bare), "-"); len(words) > 0; words = words[:len(words)-1] {
		own = append(own, strings.Join(words, ""))
	}
	for _, o := range own {
		if i := slices.IndexFunc(names, func(name string) bool { return plain(name) == o }); i >= 0 {
			return names[i : i+1]
		}
	}
	if len(names) > 1 {
		names = slices.DeleteFunc(names, func(name string) bool { return !w.listed.HasLibraries(name) })
	}
	if len(names) == 1 {
		return names
	}
	return nil
}

// ended reports whether nothing more needs to be followed.
func (w *importTracer) ended() bool { return w.first && len(w.gone)+len(w.altered)+w.lost > 0 }

// module follows the import of a module, of some names in it and of the packages around it.
func (w *importTracer) module(name string, names []string, by string, certain bool) {
	if w.ended() {
		return
	}
	dir := w.place(name, names, by, certain)
	if dir == "" {
		return
	}
	for end := 0; end <= len(name); end++ {
		if end == len(name) || name[end] == '.' {
			if !w.load(dir, name[:end], certain) {
				w.noteLost(dir, name[:end], certain, w.renamed)
				return
			}
		}
	}
	for _, n := range names {
		if w.isModule(dir, name, n, by) {
			if !w.load(dir, name+"."+n, certain) { // "cannot import name", which is an ImportError
				w.noteLost(dir, name+"."+n, certain, true)
			}
		} else if sum, ok := w.changed[name]; !ok || !certain || sum.MayBind(n) {
			continue
		} else if lost := w.lostInit[name]; lost != "" {
			w.altered = append(w.altered, facts.Hindrance{Kind: facts.HindranceSpoiled, Path: lost, By: "it is gone"})
		} else {
			w.altered = append(w.altered, facts.Hindrance{Kind: facts.HindranceName, Path: w.sourceOf(dir, name), By: n})
		}
	}
}

// place returns the directory of the import path that has a module whose sources are followed, or "". Sources of other
// distributions are followed if a requirement is unmet, as far as the import is certain, or if they are damaged.
func (w *importTracer) place(name string, names []string, by string, certain bool) string {
	top, _, _ := strings.Cut(name, ".")
	if w.listed.Tops[top] {
		return w.s.Dir
	}
	if !w.isForeign(name) {
		return ""
	}
	w.helped = true
	if !certain && !slices.ContainsFunc(w.injured, func(i injuredDistribution) bool { return i.record.Tops[top] }) {
		return ""
	}
	if certain {
		w.noteOther(name, names, by)
	}
	if dir, known := w.places[top]; known || len(w.unmet)+len(w.injured) == 0 {
		return dir
	}
	if i := slices.IndexFunc(w.s.Path, func(dir string) bool { return pyenv.FindsModule(w.h, []string{dir}, top, nil) }); i >= 0 {
		w.places[top] = w.s.Path[i]
	}
	return w.places[top]
}

// isForeign reports whether a module is neither the distribution's own nor of the standard library.
func (w *importTracer) isForeign(name string) bool {
	top, _, _ := strings.Cut(name, ".")
	return !w.listed.Tops[top] && !pysource.Standard(top, w.s.Python)
}

// isModule reports whether a name that a file imports from a package is a module in it: in its own distribution by
// RECORD, in another by the file, if the package itself cannot define the name or is the importer.
func (w *importTracer) isModule(dir, name, n, by string) bool {
	file := strings.ReplaceAll(name, ".", "/") + "/" + n
	if top, _, _ := strings.Cut(name, "."); w.listed.Tops[top] {
		return w.listed.FileOf(file) != ""
	}
	source := w.sourceOf(dir, name)
	if !w.h.Exists(source) { // part of a namespace, which has no names of its own
		return w.injuredModule(dir, file) != nil || pyenv.FirstModule(w.h, []string{dir}, file) != ""
	}
	if w.injuredModule(dir, file) != nil && (source == by || !w.binds(source, func(sum *pysource.Summary) bool { return sum.Stands(n) })) {
		return true
	}
	return pyenv.FirstModule(w.h, []string{dir}, file) != "" && (source == by || !w.mayBind(source, n))
}

// noteOther notes the need of another distribution's module, and whether the environment does not have it.
func (w *importTracer) noteOther(name string, names []string, by string) {
	top, _, _ := strings.Cut(name, ".")
	if w.foreign[name] {
		return
	}
	w.foreign[name] = true
	if !slices.Contains(w.Modules, top) {
		w.Modules = append(w.Modules, top)
	}
	if slices.ContainsFunc(w.absent, func(a absentFrom) bool { return a.module == top }) || pyenv.FindsModule(w.h, w.s.Path, name, names) {
		return
	}
	if file := pyenv.ClosedModule(w.h, w.s.Path, top); file != "" {
		w.altered = append(w.altered, pyenv.ClosedFile(w.h, "", file))
		return
	}
	a := absentFrom{module: top, file: by}
	if pyenv.FindsModule(w.h, w.s.Here, name, names) {
		a.here = w.s.Here[0]
	}
	w.absent = append(w.absent, a)
	if a.here == "" && w.s.Python != "" && !isRedirected(w.s, w.h) {
		w.lost++
	}
}

// load follows one module below a directory of the import path. It reports whether there is a file of it, or a directory.
func (w *importTracer) load(dir, name string, certain bool) bool {
	mark := map[bool]string{true: "+", false: "-"}[certain] + name
	if w.seen[mark] || w.seen["+"+name] {
		return true
	}
	w.seen[mark] = true
	file := strings.ReplaceAll(name, ".", "/")
	full := path.Join(dir, file)
	if source := full + "/__init__.py"; w.h.Exists(source) {
		w.source(name, source, true, certain)
		return true
	}
	if found := w.extension(dir, file); found != "" {
		if certain && pyenv.IsClosed(w.h, path.Join(dir, found)) {
			w.altered = append(w.altered, pyenv.ClosedFile(w.h, "", path.Join(dir, found)))
		}
		if certain {
			w.noteUninitialized(dir, found)
			w.noteRefused(path.Join(dir, found))
		}
		w.loaded[path.Join(dir, found)] = true
		w.take(found, certain)
		w.fromCompiled(dir, found, certain)
		return true
	}
	if w.h.Exists(full + ".py") {
		w.source(name, full+".py", false, certain)
		return true
	}
	if w.h.Exists(full) { // a namespace, unless its first file is gone
		if _, listed := w.listed.Sources[file+"/__init__.py"]; listed && !w.h.Exists(full+"/__init__.pyc") {
			w.lostInit[name], w.changed[name] = full+"/__init__.py", pysource.Summary{}
		}
		return true
	}
	recordedFile := w.listed.FileOf(file)
	switch {
	case recordedFile == "" || w.h.Exists(full+".pyc"):
	case certain:
		w.gone = append(w.gone, recordedFile)
	case !w.tried:
		w.doubt(facts.Hindrance{Path: path.Join(dir, recordedFile), By: "it is gone"})
	}
	return false
}

// take notes a library of its own.
func (w *importTracer) take(name string, certain bool) {
	if !w.listed.Tops[name[:strings.IndexAny(name, "/.")]] {
		return
	}
	list := &w.possible
	if certain {
		list = &w.Certain
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// extension returns the file that Python takes for an extension module, relative to its directory, or "".
func (w *importTracer) extension(dir, file string) string {
	python := strings.ReplaceAll(version.ShortPython(w.s.Python), ".", "")
	var stable, plain string
	for _, full := range w.h.GlobIn(dir, file+".*so") {
		switch middle := strings.TrimSuffix(strings.TrimPrefix(full, path.Join(dir, file)), "so"); {
		case python != "" && strings.HasPrefix(middle, ".cpython-"+python+"-"):
			return strings.TrimPrefix(full, dir+"/")
		case middle == ".abi3.":
			stable = strings.TrimPrefix(full, dir+"/")
		case middle == ".":
			plain = strings.TrimPrefix(full, dir+"/")
		}
	}
	if stable != "" {
		return stable
	}
	return plain
}

// source reads one file and follows what it imports, in its order.
func (w *importTracer) source(name, file string, isPackage, certain bool) {
	if w.sources++; w.sources > maxSources {
		return
	}
	m, err := w.imports(name, file, certain)
	if errors.Is(err, fs.ErrPermission) && certain {
		w.Read, w.altered = true, append(w.altered, pyenv.ClosedFile(w.h, "", file))
	}
	if err != nil {
		return
	}
	w.Read = true
	for _, i := range m.Imports {
		if w.ended() {
			return
		}
		base := i.Module
		if i.Level > 0 {
			if base = relative(name, isPackage, i); base == "" {
				continue
			}
		}
		outer, tried := w.renamed, w.tried
		w.renamed, w.tried = outer || i.Renamed, tried || i.Tried
		w.module(base, i.Names, file, certain && (i.Certain || w.counts != nil && w.counts(i)))
		w.renamed, w.tried = outer, tried
	}
	if m.Opens {
		w.unnamed = w.unnamed || certain && m.OpensFirst && len(m.Libraries) == 0
		w.helped = w.helped || m.Unnamed || slices.ContainsFunc(m.Later, w.isForeign)
		for _, library := range m.Libraries {
			w.helped = w.helped || len(w.listed.Named[path.Base(library)]) == 0
			w.open(path.Base(library), certain && m.OpensFirst)
		}
	}
}

// imports reads a source. Of most sources of an image there is the summary alone.
func (w *importTracer) imports(name, file string, certain bool) (m pysource.Module, err error) {
	if m, ok := w.parsed[file]; ok && len(w.unmet) == 0 && w.changed[name].Names == nil {
		return m, nil
	}
	m, err = w.read(name, file, certain)
	if err == nil && w.parsed != nil {
		w.parsed[file] = m
	}
	return m, err
}

// read reads a source and compares it with what was installed.
func (w *importTracer) read(name, file string, certain bool) (m pysource.Module, err error) {
	f, err := w.h.Open(file)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if sum := summaryOf(f); sum != nil {
		if certain {
			w.older(file, sum.TakenFrom)
		}
		info, err := f.Stat()
		if err == nil && w.isResized(file, info.Size()) {
			w.compare(name, file, *sum, info.Size(), true, certain)
		}
		return sum.Module, err
	}
	data, err := host.Whole(f, file, nil)
	if err == nil && certain {
		w.older(file, func(module string) []string { return pysource.Takes(data, module) })
	}
	if err == nil && w.isResized(file, int64(len(data))) {
		w.compare(name, file, pysource.Summarize(data), int64(len(data)), isText(data), certain)
	}
	return pysource.Parse(data), err
}

// isResized reports whether a source has another size than RECORD says: its own, or that of an injured distribution.
func (w *importTracer) isResized(file string, size int64) bool {
	told := w.sizeOf(file)
	return told >= 0 && told != size
}

// sizeOf returns the size of a source in RECORD, or -1.
func (w *importTracer) sizeOf(file string) int64 {
	recorded := w.listed.Sources[strings.TrimPrefix(file, w.s.Dir+"/")]
	for i := 0; recorded == "" && i < len(w.injured); i++ {
		recorded = w.injured[i].record.Sources[strings.TrimPrefix(file, path.Dir(w.injured[i].info)+"/")]
	}
	size, err := strconv.ParseInt(recorded, 10, 64)
	if err != nil {
		return -1
	}
	return size
}

// distributionOf returns the name and version of the damaged distribution that a source belongs to, or "" for the
// traced one.
func (w *importTracer) distributionOf(file string) string {
	for _, i := range w.injured {
		if _, listed := i.record.Sources[strings.TrimPrefix(file, path.Dir(i.info)+"/")]; listed {
			return w.s.Index(w.h).At(i.info).String()
		}
	}
	return ""
}

// compare records a changed source, because a name that is imported from it may be gone. A source that ends in the
// middle of a statement, or is not text, ends the import. An empty one of a package through which all of it is reached
// leaves nothing to use, unless the original was small and may have contained only a comment. For any other change the
// effect is unknown.
func (w *importTracer) compare(name, file string, sum pysource.Summary, size int64, text, certain bool) {
	w.changed[name] = sum
	bad := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: w.distributionOf(file), Path: file}
	switch {
	case !text:
		bad.By = "it is not a text file"
	case sum.Unfinished:
		bad.By = "it ends in the middle of a statement"
	case size == 0 && !strings.Contains(name, ".") && w.sizeOf(file) > smallSource:
		bad.By = "it is empty"
	case size == 0:
		bad.By = "it is empty"
		certain = false
	case isOther(size, w.sizeOf(file)):
		bad.By = fmt.Sprintf("it has %d bytes, RECORD says %d", size, w.sizeOf(file))
		certain = false
	default:
		return
	}
	if certain {
		w.altered = append(w.altered, bad)
	} else {
		w.doubt(bad)
	}
}

// isOther reports whether a source has so different a size that it is no patch of the one that was installed, or has lost half of it.
func isOther(size, told int64) bool {
	return max(size-told, told-size) > max(told/10, smallPatch) || size*2 <= told
}

// smallPatch is the size, in bytes, of a change that is taken for a patch whatever it changes.
const smallPatch = 200

// smallSource is the size, in bytes, of a package's first file up to which it may have held nothing but a comment.
const smallSource = 1024

// doubt records a damaged file that may or may not end the import.
func (w *importTracer) doubt(bad facts.Hindrance) {
	bad.Kind = facts.HindrancePerhaps
	w.doubtful = cmp.Or(w.doubtful, &bad)
}

// isText reports whether Python takes data for a source: it has no null bytes and is UTF-8, unless it says otherwise.
func isText(data []byte) bool {
	return !bytes.Contains(data, []byte{0}) && (utf8.Valid(data) || bytes.Contains(data[:min(len(data), 200)], []byte("coding")))
}

// older records a name that a source imports from a module of an older release than required, and that the module
// lacks.
func (w *importTracer) older(file string, takes func(module string) []string) {
	for _, u := range w.unmet {
		for _, module := range u.Modules {
			source := sourceAt(w.h, w.s.Path, module)
			if source == "" {
				continue
			}
			for _, name := range takes(module) {
				if w.lacksName(source, name) && !w.isModule(path.Dir(path.Dir(source)), module, name, file) {
					w.altered = append(w.altered, facts.Hindrance{Kind: facts.HindranceOld, Of: u.Name + " " + u.Have, Path: file,
						Symbol: module + "." + name, Requirement: u.String()})
				}
			}
		}
	}
}

// lacksName reports whether a module of an older release than required lacks a name: the name is nowhere in its source,
// and it imports no wildcard. Code that computes names counts as having it.
func (w *importTracer) lacksName(source, name string) bool {
	if !w.mayBind(source, name) {
		return true
	}
	if w.binds(source, func(sum *pysource.Summary) bool { return sum.Stands(name) }) {
		return false
	}
	data := w.h.ReadQuietly(source)
	return len(data) > 0 && !takesAll.Match(data) && !slices.ContainsFunc([]string{"'" + name + "'", `"` + name + `"`, "global " + name},
		func(text string) bool { return bytes.Contains(data, []byte(text)) })
}

// takesAll matches what lets a source have names that do not stand in it.
var takesAll = lazyregexp.New(`import\s*\*|(?m:^def __getattr__)`)

// mayBind reports whether a source may give a name to who imports it from there; one that cannot be read may.
func (w *importTracer) mayBind(source, name string) bool {
	return w.binds(source, func(sum *pysource.Summary) bool { return sum.MayBind(name) })
}

// binds asks of a source that can be read.
func (w *importTracer) binds(source string, name func(*pysource.Summary) bool) bool {
	sum, ok := w.known[source]
	if !ok {
		sum = w.summarize(source)
		if w.known == nil {
			w.known = map[string]*pysource.Summary{}
		}
		w.known[source] = sum
	}
	return sum == nil || name(sum)
}

// summarize reads a source. It returns nil if the source cannot be read.
func (w *importTracer) summarize(source string) *pysource.Summary {
	sum, _ := summarizeFile(w.h, source)
	return sum
}

// summarizeFile reads a source, and reports whether it is text. Of a source in an image only the summary was kept; it
// returns that one. It returns nil if the source cannot be read.
func summarizeFile(h *host.Host, source string) (sum *pysource.Summary, text bool) {
	f, err := h.Open(source)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if sum := summaryOf(f); sum != nil {
		return sum, true
	}
	data, err := host.Whole(f, source, nil)
	if err != nil {
		return nil, false
	}
	found := pysource.Summarize(data)
	return &found, isText(data)
}

// summaryOf returns the summary of a source whose text was not kept.
func summaryOf(f any) *pysource.Summary {
	if kept, ok := f.(interface{ Summary() *pysource.Summary }); ok {
		return kept.Summary()
	}
	return nil
}

// sourceOf returns the source file of a module.
func (w *importTracer) sourceOf(dir, name string) string {
	full := path.Join(dir, strings.ReplaceAll(name, ".", "/"))
	if source := full + "/__init__.py"; w.h.Exists(source) {
		return source
	}
	return full + ".py"
}

// open records a package's own library that is opened by name, if only one has that name.
func (w *importTracer) open(base string, certain bool) {
	found := w.listed.Named[base]
	for _, name := range found {
		w.take(name, certain && len(found) == 1)
	}
}

// relative returns the module that a relative import names, or "" if it leads out of the package.
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

// Loads returns the libraries of a list that the import loads or may load. It returns all if the sources name none,
// because the names may be computed.
func (r *ImportTrace) Loads(names []string) []string {
	if r == nil || !r.Read {
		return names
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.Names(name) })
	if len(kept) == 0 {
		return names
	}
	return kept
}

// Names reports whether the sources show that the import loads a library, or may.
func (r *ImportTrace) Names(library string) bool {
	return r != nil && (slices.Contains(r.Certain, library) || slices.Contains(r.possible, library))
}

// OpensUnaided reports whether nothing loads a library for a package before it is opened: its sources open its own by their names,
// and import nothing of others.
func (r *ImportTrace) OpensUnaided() bool { return r != nil && r.Read && !r.helped }

// Late reports whether the import of a package succeeds without one of its libraries, because it is opened later or its
// failure is caught.
func (r *ImportTrace) Late(library string) bool {
	return r != nil && r.Read && !slices.Contains(r.Certain, library) && (slices.Contains(r.possible, library) || !r.unnamed)
}
