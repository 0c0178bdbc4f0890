package pyimport

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pysource"
)

// CheckTrace records what the import of a distribution needs and does not find: its own files, modules of others, and
// symbols of its own libraries. Python binds every symbol of a library when it opens it (RTLD_NOW), so one missing
// symbol is enough.
func CheckTrace(s *pyenv.Site, b *facts.Build, h *host.Host, lazy LazyTrace) error {
	r := lazy.Now()
	if r == nil || len(b.Hindrances) > 0 {
		return nil
	}
	own := b.Name + " " + b.Version
	found, err := spoiledFirst(s, h, b, r)
	if found == nil && r.Read {
		found = importEnd(s, h, r)
	}
	if found != nil {
		found.Of = cmp.Or(found.Of, own)
	}
	if found != nil && found.Kind == facts.HindrancePerhaps { // what is certain comes first
		defer func() { b.Hindrances = append(b.Hindrances, *found) }()
	} else if found != nil {
		b.Hindrances = append(b.Hindrances, *found)
		return err
	}
	if err != nil || !r.Read {
		return err
	}
	p := s.Torch.Process
	if p == nil || !slices.Contains(r.Modules, "torch") {
		if p, err = loader.PythonProcess(h, s); err != nil {
			return err
		}
	}
	for _, name := range r.Certain {
		file, symbol, err := undefinedIn(s, p, path.Join(s.Dir, name))
		if err != nil || symbol != "" {
			if symbol != "" {
				b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceSymbol, Of: own, Path: file, By: symbol})
			}
			return err
		}
	}
	return nil
}

// spoiledFirst returns a library that the import of a package opens first and that the loader refuses: one that its
// sources name, or with the package's name, unless the package can do without.
func spoiledFirst(s *pyenv.Site, h *host.Host, b *facts.Build, r *ImportTrace) (*facts.Hindrance, error) {
	d, names := s.Index(h).At(b.Path), slices.Clone(r.Certain)
	for _, name := range d.Record().LargeLibraries() {
		if loader.IsMain(name) && !slices.Contains(names, name) && !OptionalModule.Match(b.Name) && !pyenv.Absent(h, path.Join(s.Dir, name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return SpoiledLibrary(s, h, d, names)
}

// TraceSources records what the import of a framework's modules needs and does not find, by their sources. Its
// libraries are followed separately. Reading thousands of sources takes longer than the rest of doctor, so it reads
// them only if something that they may need is damaged or missing, and only as far as that decides.
func TraceSources(s *pyenv.Site, h *host.Host, b *facts.Build) {
	for _, name := range Modules[b.Name] {
		info := s.InfoOf(h, name)
		if info == "" {
			info = FrameworkInfo(s, b.Name)
		}
		if info == "" || len(b.Hindrances) > 0 {
			return
		}
		d := s.Index(h).At(info)
		if unmet := olderNumPy(s, h, info); unmet != nil {
			b.Hindrances = append(b.Hindrances, *unmet)
			return
		}
		if !MayNotImport(s, h, info) {
			continue
		}
		r := traceFrom(s, h, b, info, d.Record(), []string{name}, true)
		if found := importEnd(s, h, r); found != nil && r.Read {
			found.Of = cmp.Or(found.Of, d.String())
			b.Hindrances = append(b.Hindrances, *found)
		}
	}
}

// olderNumPy returns the requirement of a newer major version of NumPy by a distribution with compiled modules, or by
// one that it requires: those use NumPy's C functions, which no source shows.
func olderNumPy(s *pyenv.Site, h *host.Host, info string) *facts.Hindrance {
	for _, u := range unmetFrom(s, h, info) {
		if u.Name != "numpy" || u.Have == "" || s.Index(h).At(u.By).Tags().Pure {
			continue
		}
		m := lowerBound.FindStringSubmatch(u.Range)
		if m != nil && version.ParseOrZero(u.Have).Major() < version.ParseOrZero(m[1]).Major() {
			return &facts.Hindrance{Kind: facts.HindranceUnmet, Of: u.Name + " " + u.Have, Path: u.By + "/METADATA", Requirement: u.String()}
		}
	}
	return nil
}

// MayNotImport reports whether something in a distribution, or in its requirements, is damaged or missing, so that its
// sources are worth reading. METADATA need not name what was removed: torch's may lack typing-extensions, which torch
// imports.
func MayNotImport(s *pyenv.Site, h *host.Host, info string) bool {
	return h.HasRemoved() || modulesDamaged(s, h, s.Index(h).At(info)) || len(injuredFrom(s, h, info)) > 0 || unmetDecides(s, h, info)
}

// modulesDamaged reports whether a source of a distribution is gone or of another size than RECORD says, or an extension module
// of it is another file.
func modulesDamaged(s *pyenv.Site, h *host.Host, d *pydist.Distribution) bool {
	return slices.ContainsFunc(s.Index(h).Damaged(d), func(one pydist.Damage) bool {
		return strings.HasSuffix(one.Name, ".py") || extensionModule.MatchString(one.Name) && uninitialized(s, h, d, one.Name) != nil
	})
}

// extensionModule matches the libraries that Python imports by their names.
var extensionModule = lazyregexp.New(`\.(cpython-[\w-]+|abi3)\.so$`)

// besideTrace returns a damaged file of a distribution, or of one that it requires, that no import at the top level may come
// to: one that is empty, cut off or another one is no patch, and functions import such, too. One that is gone may have been
// left out on purpose, as tests are.
func besideTrace(s *pyenv.Site, h *host.Host, info string, injured []injuredDistribution) *facts.Hindrance {
	own := s.Index(h).At(info)
	for _, i := range append([]injuredDistribution{{info: info, damaged: s.Index(h).Damaged(own)}}, injured...) {
		d := s.Index(h).At(i.info)
		for _, one := range i.damaged {
			if one.Size < 0 {
				continue
			}
			if reason := damageOf(s, h, d, one); reason != "" {
				return &facts.Hindrance{Kind: facts.HindrancePerhaps, Of: d.String(), Path: path.Join(d.Dir(), one.Name), By: reason}
			}
		}
	}
	return nil
}

// damageOf says how a source or extension module is damaged, "it is empty". It returns "" if the change may be a patch,
// or a library that was stripped.
func damageOf(s *pyenv.Site, h *host.Host, d *pydist.Distribution, one pydist.Damage) string {
	file := path.Join(d.Dir(), one.Name)
	switch {
	case one.Size < 0:
		return "it is gone"
	case extensionModule.MatchString(one.Name):
		if bad := uninitialized(s, h, d, one.Name); bad != nil {
			return bad.By
		}
		return refusal(s, h, file)
	case !strings.HasSuffix(one.Name, ".py"):
		return ""
	case one.Size == 0:
		return "it is empty"
	case isOther(one.Size, one.Told):
		return fmt.Sprintf("it has %d bytes, RECORD says %d", one.Size, one.Told)
	}
	switch sum, text := summarizeFile(h, file); {
	case sum == nil:
		return ""
	case !text:
		return "it is not a text file"
	case sum.Unfinished:
		return "it ends in the middle of a statement"
	}
	return ""
}

// unmetDecides reports whether an unmet requirement can end an import: the distribution is not there, or the one that
// requires it takes a name that its older release does not have.
func unmetDecides(s *pyenv.Site, h *host.Host, info string) bool {
	var text []byte
	for _, u := range unmetFrom(s, h, info) {
		if u.Modules == nil {
			return true
		}
		w := importTracer{h: h, s: s}
		by := s.Index(h).At(u.By)
		for f := range by.Record().Files() {
			if !strings.HasSuffix(f.Name, ".py") {
				continue
			}
			text, _ = h.ReadInto(path.Join(by.Dir(), f.Name), text)
			for _, module := range u.Modules {
				source := sourceAt(h, s.Path, module)
				if source == "" || !bytes.Contains(text, []byte(module)) {
					continue
				}
				if slices.ContainsFunc(pysource.Takes(text, module), func(name string) bool { return w.lacksName(source, name) }) {
					return true
				}
			}
		}
	}
	return false
}

// importEnd returns the first reason in the package's source files why its import fails or may fail: a file of the
// package is missing or changed, or it imports another package's module that the environment lacks.
func importEnd(s *pyenv.Site, h *host.Host, r *ImportTrace) *facts.Hindrance {
	switch {
	case len(r.gone) > 0:
		return &facts.Hindrance{Kind: facts.HindranceSpoiled, Path: path.Join(s.Dir, r.gone[0]), By: "it is gone"}
	case len(r.altered) > 0:
		return &r.altered[0]
	case len(r.absent) == 0 || s.Python == "" || isRedirected(s, h):
		return cmp.Or(r.perhaps, r.doubtful)
	}
	for _, a := range r.absent {
		if a.here == "" {
			return &facts.Hindrance{Kind: facts.HindranceModule, Path: a.file, By: a.module, Requirement: wantedFor(r.unmet, a.module)}
		}
	}
	return &facts.Hindrance{Kind: facts.HindranceOnlyHere, Path: r.absent[0].here, By: r.absent[0].module}
}

// undefinedIn opens a library in a process and returns the first symbol, of it or of what came with it, that nothing
// defines. It returns nothing if a library is missing that could define it.
func undefinedIn(s *pyenv.Site, p *ldso.Process, file string) (by, symbol string, err error) {
	before, lost := len(p.Objects), len(p.Missing)
	o, err := p.Open(file, nil, ldso.Local)
	if o == nil || err != nil || p.Loaded("libc.so.6") == nil {
		return "", "", err
	}
	var drivers []string // the driver's libraries, which an image does not have
	for _, m := range p.Missing[lost:] {
		name := path.Base(m.Name)
		if !errors.Is(m.Err, ldso.ErrNotFound) || driverSymbols[driverStem(name)] == nil {
			return "", "", nil
		}
		drivers = append(drivers, driverStem(name))
	}
	for _, o := range append([]*ldso.Object{o}, p.Objects[min(before, len(p.Objects)):]...) {
		if !strings.HasPrefix(o.Real, s.Dir+"/") {
			continue
		}
		symbols, err := p.MissingSymbols(o, func(sym ldso.Symbol) bool {
			return !pythonSymbol.MatchString(sym.Name) && !slices.ContainsFunc(drivers, func(d string) bool {
				return driverSymbols[d].MatchString(sym.Name)
			})
		})
		if err != nil || len(symbols) > 0 {
			if err == nil {
				by, symbol = o.Real, symbols[0].Name
			}
			return by, symbol, err
		}
	}
	return "", "", nil
}

// pythonSymbol matches what the interpreter's program defines.
var pythonSymbol = lazyregexp.New(`^_?Py`)

func driverStem(name string) string {
	stem, _, _ := strings.Cut(name, ".so")
	return stem
}

// driverSymbols are the libraries of the driver's that others are linked to, and how the names of their functions begin.
var driverSymbols = map[string]*lazyregexp.Regexp{
	"libcuda":          lazyregexp.New(`^cu[A-Z]`),
	"libnvidia-ml":     lazyregexp.New(`^nvml`),
	"libnvcuvid":       lazyregexp.New(`^cuvid`),
	"libnvidia-encode": lazyregexp.New(`^NvEncode`),
}

// isRedirected reports whether code determines where a module of the environment is: an editable installation's finder.
func isRedirected(s *pyenv.Site, h *host.Host) bool {
	return slices.ContainsFunc(s.Path, func(dir string) bool {
		return len(h.GlobIn(dir, "__editable__*_finder.py"))+len(h.GlobIn(dir, "_*_editable_impl*.pth"))+len(h.GlobIn(dir, "*_editable_*.py")) > 0
	})
}
