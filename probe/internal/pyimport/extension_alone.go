package pyimport

import (
	"path"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// SpoiledLibrary returns a changed library of a distribution that the loader refuses, or the first one if all are for
// another machine. A library that was installed that way is somebody's data.
func SpoiledLibrary(s *pyenv.Site, h *host.Host, d *pydist.Distribution, names []string) (*facts.Hindrance, error) {
	p, err := loader.PythonProcess(h, s)
	if err != nil {
		return nil, err
	}
	var other []facts.Hindrance
	for _, name := range names {
		full := path.Join(s.Dir, name)
		_, err := p.Find(full, nil)
		missing := ldso.Missing{Name: full, Err: err}
		file, reason := missing.Unloadable()
		switch bad := (facts.Hindrance{Kind: facts.HindranceSpoiled, Path: file, By: reason}); {
		case file == "":
		case missing.Closed():
			bad = pyenv.ClosedFile(h, "", file)
			return &bad, nil
		case s.Index(h).Intact(d, name).State == pydist.Altered:
			return &bad, nil
		default:
			other = append(other, bad)
		}
	}
	if len(other) == 0 || len(other) < len(names) {
		return nil, nil
	}
	return &other[0], nil
}
