package framework

import (
	"bytes"
	"path"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// editables reads the packages of editable installations whose own directory contains libraries with CUDA code. Their
// metadata is in the site and lists no files.
func editables(h *host.Host, s *pyenv.Site, dists []*pydist.Distribution, cuda string, failed *host.Errors) []facts.Build {
	var list []facts.Build
	for _, i := range dists {
		if notExtension(i.Name) || !bytes.Contains(h.ReadQuietly(i.Path+"/direct_url.json"), []byte(`"editable": true`)) {
			continue
		}
		module := strings.ReplaceAll(i.Name, "-", "_")
		dir := s.PackageDir(h, module)
		for _, other := range s.Path {
			if !h.Exists(dir) {
				dir = path.Join(other, module)
			}
		}
		away := *s
		away.Dir = path.Dir(dir)
		libraries := unrecordedLibraries(&away, h, module, nil)
		if len(libraries) == 0 || path.Base(dir) != module {
			continue
		}
		b := &facts.Build{Name: i.Name, Version: i.Version, Accelerator: "cuda", Extension: true, Path: dir, From: i.Path}
		failed.Add(readLibraries(b, h, &away, nil, loadedOf(libraries, cuda)))
		if len(b.SASS)+len(b.PTX) > 0 || b.CUDA != "" {
			list = append(list, *b)
		}
	}
	return list
}
