package pyimport

import (
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
)

// OtherRelease notes that a distribution of a CUDA family requires another one of such a family that is installed in a
// release that it does not accept, or over which that of another family was installed, and whether its libraries prove that
// they do not load with that. NVIDIA's own libraries keep to their sonames.
func OtherRelease(s *pyenv.Site, h *host.Host, b *facts.Build, libraries []string) error {
	for _, r := range s.Index(h).At(b.Path).Requires() {
		if len(b.Hindrances) > 0 || !pydist.NamedForCUDA.MatchString(r.Name) || strings.HasPrefix(r.Name, "nvidia-") {
			continue
		}
		asked, have := r.Plain(), s.Index(h).Find(r.Name)
		if asked == "" || have == nil {
			continue
		}
		over := installedOver(s, h, have)
		if over == nil && pydist.Accepts(asked, have.Version) {
			continue
		}
		if over != nil {
			have = over
		}
		bad := facts.Hindrance{Kind: facts.HindranceRelease, Of: have.String(), Path: b.Path + "/METADATA", By: r.Name + asked}
		if err := unbound(s, h, have, libraries, &bad); err != nil {
			return err
		}
		b.Hindrances = append(b.Hindrances, bad)
	}
	return nil
}

// installedOver returns the distribution of the same name for another CUDA whose library has replaced a distribution's
// own, such as librmm-cu13 over librmm-cu12, or nil.
func installedOver(s *pyenv.Site, h *host.Host, d *pydist.Distribution) *pydist.Distribution {
	if LibrariesAsShipped(s, h, d.Path) {
		return nil
	}
	stem := pydist.NamedForCUDA.ReplaceAllString(d.Name, "")
	for _, file := range d.Record().AllLibraries() {
		if by := s.Index(h).Intact(d, file).By; by != nil && pydist.NamedForCUDA.ReplaceAllString(by.Name, "") == stem {
			return by
		}
	}
	return nil
}

// TooOld notes that a distribution is of an older minor release than another one requires in its METADATA. Upper bounds
// and patches are not compared: TensorFlow 2.18.1 asks for protobuf >= 3.20.3 and < 6, and is imported with 3.20.0 and
// with 7.34.0, but not with 3.19.6.
func TooOld(s *pyenv.Site, h *host.Host, dist *facts.Package, wanted string) []facts.Hindrance {
	have := s.Index(h).Find(wanted)
	if have == nil {
		return nil
	}
	for _, r := range s.Index(h).At(dist.Path).Requires() {
		if r.Name != wanted {
			continue
		}
		least := leastOf.FindStringSubmatch(r.Plain())
		if least == nil || pydist.Accepts(least[1], have.Version) {
			continue
		}
		return []facts.Hindrance{{Kind: facts.HindranceRelease, Of: have.String(), Path: dist.Path + "/METADATA",
			By: wanted + least[0]}}
	}
	return nil
}

// leastOf matches the lower bound of a requirement, and of that the minor release.
var leastOf = lazyregexp.New(`(>=\d+\.\d+)[\d.]*`)

// unbound records the first library of a build that needs something the installed release does not define, and what:
// Python and ctypes make the loader bind all symbols at once.
func unbound(s *pyenv.Site, h *host.Host, have *pydist.Distribution, libraries []string, bad *facts.Hindrance) error {
	provides := have.Record().AllLibraries()
	for _, name := range libraries {
		full := path.Join(s.Dir, name)
		needed := loader.NeededBy(h, full)
		if !slices.ContainsFunc(provides, func(file string) bool { return slices.Contains(needed, path.Base(file)) }) {
			continue
		}
		if lacks, err := lackedSymbol(s, h, full, needed); lacks != "" || err != nil {
			if lacks != "" {
				bad.Path, bad.Symbol = full, lacks
			}
			return err
		}
	}
	return nil
}

// lackedSymbol returns a C++ symbol that a library needs and does not find among those that it links to. It returns ""
// if it finds all, or if one of these libraries is missing.
func lackedSymbol(s *pyenv.Site, h *host.Host, file string, needed []string) (string, error) {
	p, err := loader.PythonProcess(h, s)
	if err != nil {
		return "", err
	}
	for _, library := range needed {
		for _, found := range libraryFiles(s, h, library) {
			if _, err := p.Open(found, nil, ldso.Global); err != nil {
				return "", err
			}
		}
	}
	o, err := p.Open(file, nil, ldso.Local)
	whole := !slices.ContainsFunc(needed, func(library string) bool { return p.Loaded(library) == nil })
	if o == nil || err != nil || !whole {
		return "", err
	}
	symbols, err := p.MissingSymbols(o, func(sym ldso.Symbol) bool { return strings.HasPrefix(sym.Name, "_Z") })
	if len(symbols) == 0 {
		return "", err
	}
	return symbols[0].Name, err
}

// libraryFiles returns the files of a name where the packages of a site keep their libraries.
func libraryFiles(s *pyenv.Site, h *host.Host, name string) []string {
	return slices.Concat(h.GlobIn(s.Dir, "*/lib64/"+name), h.GlobIn(s.Dir, "*/lib/"+name), s.InWheels(h, "*/lib/"+name),
		s.InWheels(h, "*/lib64/"+name))
}
