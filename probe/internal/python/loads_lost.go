package python

import (
	"errors"
	"path"
	"slices"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// absentLibraries are the CUDA libraries that the loader does not map. libcuda is the driver's: a machine image has
// none.
func absentLibraries(b *facts.Build, p *ldso.Process) []string {
	b.Looked = true
	return notLoaded(p, func(name string) bool { return cudaStem(name) != "" })
}

// notLoaded are the libraries of a kind that the loader finds nowhere, or of which it does not take the file that is
// there.
func notLoaded(p *ldso.Process, kind func(name string) bool) []string {
	var list []string
	for _, m := range p.Missing {
		name := path.Base(m.Name)
		bad, _ := m.Unloadable()
		lost := bad != "" || errors.Is(m.Err, ldso.ErrNotFound)
		if lost && kind(name) && p.Loaded(name) == nil && !slices.Contains(list, name) {
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

// noteUnloadable notes why files of the libraries that a build misses cannot be loaded.
func noteUnloadable(b *facts.Build, h *host.Host, p *ldso.Process) {
	for _, m := range p.Missing {
		file, reason := m.Unloadable()
		one := facts.Unloadable{Name: path.Base(m.Name), Path: realPath(h, file), Reason: reason}
		if file != "" && slices.Contains(b.Missing, one.Name) && !slices.Contains(b.Unloadable, one) {
			b.Unloadable = append(b.Unloadable, one)
		}
	}
}

// realPath is a file's path without symbolic links, where it can be told.
func realPath(h *host.Host, file string) string {
	if real, err := h.Files().Resolve(file); err == nil {
		return real
	}
	return file
}
