package loader

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

const stdcxx = "libstdc++.so.6"

// standardLibrary compares the symbol versions that the build's own libraries need of the C++ library with those of the
// one that the loader takes. The loader refuses a library for one missing version, whether or not it is used.
func standardLibrary(b *facts.Build, p *ldso.Process) error {
	lib := p.Loaded(stdcxx)
	if lib == nil {
		return nil
	}
	b.Stdcxx = &facts.Stdcxx{Path: lib.Real, Reason: lib.Reason.String()}
	for _, o := range p.Objects {
		if !strings.HasPrefix(o.Real, b.Path+"/") || !slices.Contains(o.ELF.Needed, stdcxx) {
			continue
		}
		missing, err := p.MissingVersions(o)
		if err != nil {
			b.Stdcxx = nil
			return err
		}
		for _, v := range missing {
			if v.Library == lib && !slices.Contains(b.Stdcxx.Missing, v.Version) {
				b.Stdcxx.Missing = append(b.Stdcxx.Missing, v.Version)
				b.Stdcxx.By = cmp.Or(b.Stdcxx.By, o.Path)
			}
		}
	}
	return nil
}

// PythonProcess returns a process of the environment's interpreter, to load libraries into. Conda's leads the loader to
// its own libraries by its run path; others have none that matters.
func PythonProcess(h *host.Host, s *pyenv.Site) (*ldso.Process, error) {
	if s.Conda != "" {
		if p, err := h.Loader().Start(s.Conda + "/bin/python3"); err == nil {
			return p, nil
		}
	}
	return h.Loader().Host()
}
