package efa

import (
	"errors"
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// maxUnresolved bounds how many unresolved libraries are kept. One is enough to make the loader fail.
const maxUnresolved = 16

// programLibraries matches the libraries that a CUDA program has loaded before NCCL opens its plugin. References to
// them resolve wherever they lie.
var programLibraries = lazyregexp.New(`^lib(cuda|cudart|nccl|nvidia-ml)\.so`)

// ncclProcess returns the process in which NCCL opens its plugin: with the run path of a Conda environment's
// interpreter, if there is one.
func ncclProcess(h *host.Host) (*ldso.Process, error) {
	if prefix := h.Var("CONDA_PREFIX"); path.IsAbs(prefix) && h.Var("VIRTUAL_ENV") == "" {
		if p, err := h.Loader().Start(prefix + "/bin/python3"); err == nil {
			return p, nil
		}
	}
	return h.Loader().Host()
}

// pluginLacks resolves the plugin, libfabric and rdma-core, and returns what makes the loader fail: missing libraries,
// and versions and functions that a found library does not define.
func pluginLacks(p *ldso.Process, plugin string) ([]facts.Unresolved, error) {
	if _, err := p.Open(plugin, nil, ldso.Local); err != nil {
		return nil, err
	}
	var list []facts.Unresolved
	for _, m := range p.Missing {
		switch {
		case !errors.Is(m.Err, ldso.ErrNotFound):
			return nil, m.Err
		case m.Via == ldso.Needed && !programLibraries.MatchString(path.Base(m.Name)):
			list = append(list, facts.Unresolved{By: m.By.Path, Library: m.Name, Reason: m.By.Reason.String()})
		}
	}
	for _, o := range p.Objects {
		lacks, err := missingVersions(p, o)
		if err != nil {
			return nil, err
		}
		list = append(list, lacks...)
	}
	return list[:min(len(list), maxUnresolved)], nil
}

// missingVersions returns the symbol versions that a library needs and that its dependencies do not define.
func missingVersions(p *ldso.Process, o *ldso.Object) ([]facts.Unresolved, error) {
	versions, err := p.MissingVersions(o)
	if err != nil {
		return nil, err
	}
	var list []facts.Unresolved
	add := func(symbol, version, library string, from *ldso.Object) {
		list = append(list, facts.Unresolved{Symbol: symbol, Version: version, By: o.Path, Library: library,
			Path: from.Real, Reason: from.Reason.String()})
	}
	whole := map[string]bool{}
	for _, v := range versions {
		whole[v.Version] = true
		add("", v.Version, v.Library.ELF.Soname, v.Library)
	}
	symbols, err := p.MissingSymbols(o, func(s ldso.Symbol) bool {
		return p.Loaded(s.Library) != nil && !whole[s.Version]
	})
	for _, s := range symbols {
		add(s.Name, s.Version, s.Library, p.Loaded(s.Library))
	}
	return list, err
}
