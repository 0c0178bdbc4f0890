package framework

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// unownedNames are the directories of packages that are read without metadata, or hold no package.
var unownedNames = lazyregexp.New(`^(nvidia|torch|tensorflow|jax\w*|triton|cuda|bin|share|include|__pycache__)$`)

// libraryPlaces are where a package keeps its libraries.
var libraryPlaces = []string{"*.so", "lib/*.so*", "lib64/*.so*", "libs/*.so*"}

// unownedPackages reads the packages of a site whose metadata is gone, as slimmed images leave them: Python imports them as
// before. Directories that other tools fill have other metadata, or none.
func unownedPackages(
	h *host.Host, s *pyenv.Site, entries []fs.DirEntry, dists []*pydist.Distribution, cuda string, failed *host.Errors,
) []facts.Build {
	if s.Conda != "" || path.Base(s.Dir) != "site-packages" {
		return nil
	}
	known := map[string]bool{}
	for _, i := range dists {
		known[i.Name] = known[i.Name] || !i.Egg
	}
	var list []facts.Build
	for _, e := range entries {
		name := distname.Normal(e.Name())
		if !e.IsDir() || known[name] || path.Ext(e.Name()) != "" || unownedNames.MatchString(e.Name()) {
			continue
		}
		libraries := unrecordedLibraries(s, h, e.Name(), dists)
		if len(libraries) == 0 {
			continue
		}
		dir := path.Join(s.Dir, e.Name())
		b := &facts.Build{Name: name, Version: ownVersion(h, dir), Accelerator: "cuda", Extension: true, Path: dir, From: dir}
		failed.Add(readLibraries(b, h, s, nil, loadedOf(libraries, cuda)))
		judged := len(b.SASS)+len(b.PTX) > 0 || b.CUDA != ""
		if judged {
			failed.Add(readAlone(b, h, s, nil, libraries))
			pyimport.CheckImport(s, h, b, "", []string{e.Name()})
		}
		forGPU := cudaNamed(b) || slices.ContainsFunc(libraries, func(name string) bool { return loader.CUDAStem(name) != "" })
		if !judged && forGPU {
			failed.Add(loader.CheckVersions(s, h, b, libraries))
		}
		if (judged || forGPU) && len(b.Hindrances) == 0 && asksMetadata.Match(h.ReadQuietly(dir+"/__init__.py")) {
			b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindrancePerhaps, Of: name, Path: dir + ".dist-info", By: "it is gone"})
		}
		if judged || len(b.Hindrances) > 0 {
			list = append(list, *b)
		}
	}
	return list
}

// asksMetadata matches what asks for the version that METADATA tells, and fails without it.
var asksMetadata = lazyregexp.New(`(?m)^from importlib\.metadata import|^import importlib\.metadata|\bimportlib\.metadata\.version\(`)

// unrecordedLibraries lists the libraries of a package directory that are worth reading and that no RECORD lists.
func unrecordedLibraries(s *pyenv.Site, h *host.Host, dir string, dists []*pydist.Distribution) []string {
	var list []string
	for _, place := range libraryPlaces {
		for _, file := range h.GlobIn(path.Join(s.Dir, dir), place) {
			name := strings.TrimPrefix(file, s.Dir+"/")
			size, err := h.Size(file)
			if err != nil || !pydist.WorthReading([]byte(name), size) {
				continue
			}
			for _, d := range dists {
				if d.Record().Has(name) {
					return nil
				}
			}
			list = append(list, name)
		}
	}
	return list
}

var versionLine = lazyregexp.New(`(?m)^(?:__version__|version)\s*(?::[^=\n]*)?=\s*['"](\d[^'"\n]*)['"]`)

// ownVersion returns a package's own version: from VERSION, as in XGBoost, or a line of version.py or __init__.py, or
// "".
func ownVersion(h *host.Host, dir string) string {
	line, _ := h.ReadLine(dir + "/VERSION")
	for _, name := range []string{"/version.py", "/_version.py", "/__init__.py"} {
		if m := versionLine.FindSubmatch(h.ReadQuietly(dir + name)); m != nil {
			line = cmp.Or(line, string(m[1]))
		}
	}
	return line
}
