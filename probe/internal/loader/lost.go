package loader

import (
	"errors"
	"path"
	"slices"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// AbsentLibraries returns the CUDA libraries that the loader does not map. libcuda is the driver's: a machine image has
// none.
func AbsentLibraries(b *facts.Build, p *ldso.Process) []string {
	b.Looked = true
	return NotLoaded(p, func(name string) bool { return CUDAStem(name) != "" })
}

// NotLoaded returns the libraries of a kind that the loader does not find, or whose file it refuses.
func NotLoaded(p *ldso.Process, kind func(name string) bool) []string {
	var list []string
	for _, m := range p.Missing {
		name := path.Base(m.Name)
		bad, _ := m.Unloadable()
		lost := bad != "" || errors.Is(m.Err, ldso.ErrNotFound)
		// What is opened by its path and cannot be loaded ends the import, whatever is found by its name later.
		lost = lost && (p.Loaded(name) == nil || bad != "" && path.IsAbs(m.Name))
		if lost && kind(name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// unloadable reports whether there is a file of a library that the loader does not take.
func unloadable(p *ldso.Process, name string) bool {
	return slices.ContainsFunc(p.Missing, func(m ldso.Missing) bool {
		file, _ := m.Unloadable()
		return file != "" && path.Base(m.Name) == name
	})
}

// NoteUnloadable records why files of a build's missing libraries cannot be loaded. If this user may not read a file,
// that is a hindrance for him, and the library is no longer Missing.
func NoteUnloadable(b *facts.Build, h *host.Host, p *ldso.Process) {
	for _, m := range p.Missing {
		file, reason := m.Unloadable()
		one := facts.Unloadable{Name: path.Base(m.Name), Path: pyenv.RealPath(h, file), Reason: reason}
		switch {
		case file == "" || !slices.Contains(b.Missing, one.Name):
		case m.Closed():
			b.Hindrances = append(b.Hindrances, pyenv.ClosedFile(h, b.Name+" "+b.Version, file))
			b.Missing = slices.DeleteFunc(b.Missing, func(name string) bool { return name == one.Name })
		case !slices.Contains(b.Unloadable, one):
			b.Unloadable = append(b.Unloadable, one)
		}
	}
}

// addUnloadableModule notes why a build's own module, which a process has tried to open, cannot be loaded.
func addUnloadableModule(b *facts.Build, h *host.Host, p *ldso.Process, module string) {
	for _, m := range p.Missing {
		file, reason := m.Unloadable()
		if m.Name != module || file == "" {
			continue
		}
		bad := facts.Hindrance{Kind: facts.HindranceSpoiled, Of: b.Name + " " + b.Version, Path: file, By: reason}
		if m.Closed() {
			bad = pyenv.ClosedFile(h, bad.Of, file)
		}
		b.Hindrances = append(b.Hindrances, bad)
	}
}
