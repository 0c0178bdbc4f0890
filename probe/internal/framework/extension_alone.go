package framework

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// readAlone follows what the libraries of a package without a framework need, as its import does, and records why the
// loader would refuse them. Libraries that nothing in the environment should bring are Missing: the system may have
// them.
func readAlone(b *facts.Build, h *host.Host, s *pyenv.Site, r pyimport.LazyTrace, libraries []string) error {
	if loader.Openers[b.Name] != nil || !b.Standalone || len(b.Hindrances) > 0 {
		return nil
	}
	d := s.Index(h).At(b.Path)
	names := r.Now().Loads(libraries)
	if bad, err := pyimport.SpoiledLibrary(s, h, d, names); bad != nil || err != nil {
		if bad != nil {
			bad.Of = b.Name + " " + b.Version
			b.Hindrances = append(b.Hindrances, *bad)
		}
		return err
	}
	first, err := firstRefused(s, h, b, r, names)
	if err == nil && first == nil && !b.Looked { // none that the import comes to asks for CUDA: those that do are opened later
		first, err = firstRefused(s, h, b, r, libraries)
	}
	if err != nil || first == nil {
		return err
	}
	b.Late = r.Now().Late(first.library)
	for _, name := range first.missing {
		noteRefused(s, h, b, first.process, name)
	}
	if len(b.Hindrances) > 0 { // a library that would lead to the others
		b.Beside, b.Missing = nil, nil
	}
	return nil
}

// refusal is a process in which a package's library is loaded, with the CUDA libraries that it needs and does not get.
type refusal struct {
	process *ldso.Process
	library string // below the site
	missing []string
}

// firstRefused returns the refusal of the first of a package's libraries that need CUDA. It returns none if one of them
// gets everything, because packages contain variants of which one is enough.
func firstRefused(s *pyenv.Site, h *host.Host, b *facts.Build, r pyimport.LazyTrace, names []string) (first *refusal, err error) {
	brought := func(library string) bool { return len(requiredLibrary(s, h, b.Path, library)) > 0 }
	counts := func(library string) bool { return loader.CUDAStem(library) != "" || brought(library) }
	for _, name := range names {
		full := path.Join(s.Dir, name)
		needed := loader.NeededBy(h, full)
		if !slices.ContainsFunc(needed, counts) {
			continue
		}
		p, err := loader.PythonProcess(h, s)
		if err != nil {
			return nil, err
		}
		if _, err := p.Open(full, nil, ldso.Local); err != nil {
			return nil, err
		}
		if !r.Now().OpensUnaided() {
			err = preloadRequirements(s, h, p, b.Path)
		}
		if err != nil {
			return nil, err
		}
		b.Looked = true
		lost := loader.NotLoaded(p, counts)
		if len(lost) == 0 && slices.ContainsFunc(needed, func(n string) bool { return loader.CUDAStem(n) != "" }) {
			return nil, loader.FindUnserved(b, h, p, s)
		}
		if len(lost) == 0 {
			continue
		}
		if first == nil {
			first = &refusal{p, name, lost}
		}
	}
	return first, nil
}

// preloadRequirements opens the missing libraries by path if the distribution's requirements or extras contain them.
// The Python code of such packages does the same before it imports the compiled module: faiss with
// _preload_library.json, ctransformers in load_cuda, RAPIDS in load_library.
func preloadRequirements(s *pyenv.Site, h *host.Host, p *ldso.Process, info string) error {
	unknown := !strings.HasSuffix(info, "-info") // a package without metadata may require anything
	brings := func(library string) bool {
		return unknown || slices.ContainsFunc(pyimport.RequiredFrom(s, h, info), func(dist string) bool {
			return bringsLibrary(s.Index(h).At(dist).Metadata(), library, dist == info)
		})
	}
	for i := 0; i < len(p.Missing); i++ { // an opened library may add missing ones
		name := path.Base(p.Missing[i].Name)
		if p.Loaded(name) != nil {
			continue
		}
		var files []string
		if loader.CUDAStem(name) == "" {
			files = requiredLibrary(s, h, info, name)
		} else if brings(name) {
			files = s.InWheels(h, "*/lib/"+name)
		}
		for _, file := range files {
			if file == p.Missing[i].Name {
				continue
			}
			if _, err := p.Open(file, nil, ldso.Global); err != nil {
				return err
			}
		}
	}
	return nil
}

// requiredLibrary returns where a distribution, or one that it requires, at any depth, has a library by its RECORD.
func requiredLibrary(s *pyenv.Site, h *host.Host, info, library string) []string {
	var list []string
	for _, dist := range pyimport.RequiredFrom(s, h, info) {
		record := s.Index(h).At(dist).Record()
		if !record.HasLibrary(library) {
			continue // as nearly all
		}
		for _, file := range record.Libraries(func(name []byte, _ int64) bool { return path.Base(string(name)) == library }) {
			list = append(list, path.Join(path.Dir(dist), file))
		}
	}
	return list
}

// bringsLibrary reports whether a METADATA requires a wheel with a library, or names one in an extra: cuda-toolkit brings
// any.
func bringsLibrary(metadata *pydist.Metadata, library string, extras bool) bool {
	wheel := "nvidia-" + pyenv.WheelOf(strings.TrimPrefix(loader.CUDAStem(library), "lib"))
	return slices.ContainsFunc([]string{wheel + "-cu11", wheel + "-cu12", wheel + "-cu13", wheel, "cuda-toolkit"},
		func(name string) bool { return metadata.Names(name, extras) })
}

// ownerOf returns the distribution, of one and those that it requires, that lists a file.
func ownerOf(s *pyenv.Site, h *host.Host, info, file string) string {
	for _, dist := range pyimport.RequiredFrom(s, h, info) {
		if s.Index(h).At(dist).Record().Has(strings.TrimPrefix(file, path.Dir(dist)+"/")) {
			return s.Index(h).At(dist).String()
		}
	}
	return s.Index(h).At(info).String()
}

// noteRefused notes one library that a package needs and does not get.
func noteRefused(s *pyenv.Site, h *host.Host, b *facts.Build, p *ldso.Process, name string) {
	by, of := b.Path, b.Name+" "+b.Version
	spoiled := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: of}
	for _, m := range p.Missing {
		if path.Base(m.Name) == name && m.By != nil {
			by = m.By.Real
		}
		if file, reason := m.Unloadable(); path.Base(m.Name) == name && file != "" {
			spoiled.Path, spoiled.By = pyenv.RealPath(h, file), reason
			if m.Closed() {
				spoiled = pyenv.ClosedFile(h, of, file)
			}
		}
	}
	if files := requiredLibrary(s, h, b.Path, name); len(files) > 0 && loader.CUDAStem(name) == "" {
		if spoiled.Path == "" {
			spoiled.Path, spoiled.By = files[0], "it is gone"
		}
		spoiled.Of = ownerOf(s, h, b.Path, spoiled.Path)
	}
	owned := loader.WheelHeld(s, h, pyenv.WheelOf(strings.TrimPrefix(loader.CUDAStem(name), "lib")), name) ||
		bringsLibrary(s.Index(h).At(b.Path).Metadata(), name, false)
	file := loader.PlaceBeside(s, h, name)
	switch {
	case spoiled.Path != "":
		b.Hindrances = append(b.Hindrances, spoiled)
	case owned && !b.Late:
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceLibrary, Of: of, Path: by, By: name})
	case file != "":
		b.Beside = append(b.Beside, file)
	default:
		b.Missing = append(b.Missing, name)
	}
}
