package python

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// rangedRequirement matches a requirement of a range of releases without an extra or a marker, in both of setuptools' forms:
//
//	Requires-Dist: librmm-cu12==26.10.*
//	Requires-Dist: librmm-cu12 (>=26.10,<26.12)
var rangedRequirement = lazyregexp.New(`(?m)^Requires-Dist: ([A-Za-z0-9._-]+) *\(?([<>=!~][^;()\r\n]*)\)?\r?$`)

// otherRelease notes that a distribution of a CUDA family requires another one of such a family that is installed in a
// release that it does not accept, or over which that of another family was installed, and whether its libraries prove that
// they do not load with that. NVIDIA's own libraries keep to their sonames.
func (s *site) otherRelease(h *host.Host, b *facts.Build, libraries []string) error {
	head := headerOf(h.ReadQuietly(b.Path + "/METADATA"))
	for _, m := range rangedRequirement.FindAllSubmatch(head, -1) {
		name := distname.Normal(string(m[1]))
		if len(b.Hindrances) > 0 || !namedForCUDA.MatchString(name) || strings.HasPrefix(name, "nvidia-") {
			continue
		}
		info := s.infoOf(h, name)
		over := s.installedOver(h, info)
		if over != "" {
			info = over
		}
		_, have, _ := strings.Cut(distOf(info), " ")
		if info == "" || over == "" && accepts(string(m[2]), have) {
			continue
		}
		bad := facts.Hindrance{Kind: facts.HindranceRelease, Of: distOf(info), Path: b.Path + "/METADATA",
			By: name + strings.TrimSpace(string(m[2]))}
		if err := s.unbound(h, info, libraries, &bad); err != nil {
			return err
		}
		b.Hindrances = append(b.Hindrances, bad)
	}
	return nil
}

// installedOver is the distribution of the same name for another CUDA family whose library is there in the place of one of
// a distribution's own, by the sizes in their RECORDs: librmm-cu13 over librmm-cu12. Empty where there is none.
func (s *site) installedOver(h *host.Host, info string) string {
	if info == "" || s.librariesAsShipped(h, info) {
		return ""
	}
	name, _, _ := strings.Cut(distOf(info), " ")
	stem := namedForCUDA.ReplaceAllString(name, "")
	for _, file := range librariesFrom(h.ReadQuietly(info+"/RECORD"), func(file []byte, _ int64) bool { return libraryFile.Match(file) }) {
		size, err := h.Size(path.Join(path.Dir(info), file))
		if err != nil || size == sizeIn(h, info, file) {
			continue
		}
		for _, other := range h.GlobIn(path.Dir(info), strings.ReplaceAll(stem, "-", "_")+"_cu*.dist-info") {
			if other != info && sizeIn(h, other, file) == size {
				return other
			}
		}
	}
	return ""
}

// tooOld notes that a distribution is of an older minor release than another one requires in its METADATA. Upper bounds
// and patches are not compared: TensorFlow 2.18.1 asks for protobuf >= 3.20.3 and < 6, and is imported with 3.20.0 and
// with 7.34.0, but not with 3.19.6.
func (s *site) tooOld(h *host.Host, dist *facts.Package, wanted string) []facts.Hindrance {
	info := s.infoOf(h, wanted)
	if info == "" {
		return nil
	}
	_, have, _ := strings.Cut(distOf(info), " ")
	head := headerOf(h.ReadQuietly(dist.Path + "/METADATA"))
	for _, m := range rangedRequirement.FindAllSubmatch(head, -1) {
		least := leastOf.FindStringSubmatch(string(m[2]))
		if distname.Normal(string(m[1])) != wanted || least == nil || accepts(least[1], have) {
			continue
		}
		return []facts.Hindrance{{Kind: facts.HindranceRelease, Of: wanted + " " + have, Path: dist.Path + "/METADATA",
			By: wanted + least[0]}}
	}
	return nil
}

// leastOf matches the lower bound of a requirement, and of that the minor release.
var leastOf = lazyregexp.New(`(>=\d+\.\d+)[\d.]*`)

// infoOf is the dist-info directory of a distribution on the import path, empty where there is none.
func (s *site) infoOf(h *host.Host, name string) string {
	for _, dir := range s.path {
		if info := infoOf(h, dir, name); info != "" {
			return info
		}
	}
	return ""
}

// accepts reports whether a release is in a range as METADATA writes it; what cannot be told it is.
func accepts(specifiers, have string) bool {
	for _, one := range strings.Split(specifiers, ",") {
		fits, err := version.Allows(strings.TrimSpace(one), version.Of(have))
		if err == nil && !fits {
			return false
		}
	}
	return true
}

// unbound notes the first library of a build's that wants what the release that is there does not define, and which:
// Python, and ctypes, have the loader bind all at once.
func (s *site) unbound(h *host.Host, info string, libraries []string, bad *facts.Hindrance) error {
	provides := librariesFrom(h.ReadQuietly(info+"/RECORD"),
		func(name []byte, _ int64) bool { return libraryFile.Match(name) })
	for _, name := range libraries {
		full := path.Join(s.dir, name)
		needed := neededBy(h, full)
		if !slices.ContainsFunc(provides, func(file string) bool { return slices.Contains(needed, path.Base(file)) }) {
			continue
		}
		if lacks, err := s.lackedSymbol(h, full, needed); lacks != "" || err != nil {
			if lacks != "" {
				bad.Path, bad.Symbol = full, lacks
			}
			return err
		}
	}
	return nil
}

// lackedSymbol is a symbol of C++ that a library wants and does not find among those that it is linked to; empty where it
// finds all, or where one of these is not there to tell.
func (s *site) lackedSymbol(h *host.Host, file string, needed []string) (string, error) {
	p, err := pythonProcess(h, s)
	if err != nil {
		return "", err
	}
	for _, library := range needed {
		for _, found := range s.libraryFiles(h, library) {
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

// libraryFiles are the files of one name where the packages of a site keep their libraries.
func (s *site) libraryFiles(h *host.Host, name string) []string {
	return slices.Concat(h.GlobIn(s.dir, "*/lib64/"+name), h.GlobIn(s.dir, "*/lib/"+name), s.inWheels(h, "*/lib/"+name),
		s.inWheels(h, "*/lib64/"+name))
}
