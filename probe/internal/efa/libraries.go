package efa

import (
	"errors"
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// maxUnresolved is how many are kept; one is enough for the loader to give up.
const maxUnresolved = 16

// ofTheProgram matches the libraries that a CUDA program has loaded before NCCL opens its plugin: their names are
// answered, wherever they lie.
var ofTheProgram = lazyregexp.New(`^lib(cuda|cudart|nccl|nvidia-ml)\.so`)

// ncclProcess is a process in which NCCL opens its plugin: of a Conda environment's interpreter, whose run path comes
// first for all that is opened, else one of which nothing is known.
func ncclProcess(h *host.Host) (*ldso.Process, error) {
	if prefix := h.Var("CONDA_PREFIX"); path.IsAbs(prefix) && h.Var("VIRTUAL_ENV") == "" {
		if p, err := h.Loader().Start(prefix + "/bin/python3"); err == nil {
			return p, nil
		}
	}
	return h.Loader().Host()
}

// pluginLacks maps NCCL's plugin with what it needs, libfabric and rdma-core below that, and returns what keeps the
// loader from it: libraries that are nowhere, and versions and functions that the library taken does not define. What
// libibverbs opens by itself, a driver for each adapter on the market, may fail where there is no such adapter.
func pluginLacks(p *ldso.Process, plugin string) ([]facts.Unresolved, error) {
	if _, err := p.Open(plugin, nil, ldso.Local); err != nil {
		return nil, err
	}
	var list []facts.Unresolved
	for _, m := range p.Missing {
		switch {
		case !errors.Is(m.Err, ldso.ErrNotFound):
			return nil, m.Err
		case m.Via == ldso.Needed && !ofTheProgram.MatchString(path.Base(m.Name)):
			list = append(list, facts.Unresolved{By: m.By.Path, Library: m.Name, Reason: m.By.Reason.String()})
		}
	}
	for _, o := range p.Objects {
		lacks, err := versionsLacked(p, o)
		if err != nil {
			return nil, err
		}
		list = append(list, lacks...)
	}
	return list[:min(len(list), maxUnresolved)], nil
}

// versionsLacked is what one library wants of the others by version and does not get.
func versionsLacked(p *ldso.Process, o *ldso.Object) ([]facts.Unresolved, error) {
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
