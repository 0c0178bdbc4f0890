package loader

import (
	"path"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// CheckVersions records that the loader refuses all of a package's libraries, because each needs a missing version of
// glibc or of the C++ library: "GLIBC_2.38". One accepted library is enough.
func CheckVersions(s *pyenv.Site, h *host.Host, b *facts.Build, names []string) error {
	var first *facts.Hindrance
	for _, name := range names {
		p, err := PythonProcess(h, s)
		if err != nil {
			return err
		}
		o, err := p.Open(path.Join(s.Dir, name), nil, ldso.Local)
		if o == nil || err != nil {
			return err
		}
		missing, err := p.MissingVersions(o)
		if err != nil || len(missing) == 0 {
			return err
		}
		if first == nil {
			first = &facts.Hindrance{Kind: facts.HindranceSpoiled, Of: b.Name + " " + b.Version, Path: o.Real,
				By: "version " + missing[0].Version + " not found in " + path.Base(missing[0].Library.Path)}
		}
	}
	if first != nil {
		b.Hindrances = append(b.Hindrances, *first)
	}
	return nil
}
