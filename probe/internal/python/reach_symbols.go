package python

import (
	"errors"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// readReached notes what the import of a distribution needs and does not find: files of its own, modules of others, and
// symbols of its own libraries. Python binds every symbol of a library when it opens it (RTLD_NOW), so that one is enough.
func (s *site) readReached(b *facts.Build, h *host.Host, lazy lazyReach) error {
	r := lazy.now()
	if r == nil || !r.read || len(b.Hindrances) > 0 {
		return nil
	}
	own := b.Name + " " + b.Version
	if len(r.gone) > 0 {
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceSpoiled, Of: own, Path: path.Join(s.dir, r.gone[0]), By: "it is gone"})
		return nil
	}
	if len(r.absent) > 0 && s.python != "" && !s.redirected(h) {
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceModule, Of: own, Path: r.absent[0].file, By: r.absent[0].module})
		return nil
	}
	p := s.torch.process
	if p == nil || !slices.Contains(r.modules, "torch") {
		var err error
		if p, err = pythonProcess(h, s); err != nil {
			return err
		}
	}
	for _, name := range r.certain {
		file, symbol, err := s.undefinedIn(p, path.Join(s.dir, name))
		if err != nil || symbol != "" {
			if symbol != "" {
				b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceSymbol, Of: own, Path: file, By: symbol})
			}
			return err
		}
	}
	return nil
}

// undefinedIn opens a library in a process and finds the first symbol, of it or of what came with it, that nothing defines.
// Nothing is said where something is missing that could define it.
func (s *site) undefinedIn(p *ldso.Process, file string) (by, symbol string, err error) {
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
		if !strings.HasPrefix(o.Real, s.dir+"/") {
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

// redirected reports whether code decides what a module of the environment is: an editable installation's finder.
func (s *site) redirected(h *host.Host) bool {
	return slices.ContainsFunc(s.path, func(dir string) bool {
		return len(h.GlobIn(dir, "__editable__*_finder.py"))+len(h.GlobIn(dir, "_*_editable_impl*.pth"))+len(h.GlobIn(dir, "*_editable_*.py")) > 0
	})
}
