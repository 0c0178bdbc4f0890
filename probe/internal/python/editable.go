package python

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// maxPathFiles bounds the .pth files that are read of one directory; an environment has two or three.
const maxPathFiles = 64

// withPathFiles adds the directories that the .pth files of the sites name, as Python does at its start: editable
// installations stand there. Of the lines that Python executes those are read that put a directory first.
func withPathFiles(h *host.Host, sites []string, failed *host.Errors) []string {
	list := slices.Clone(sites)
	for _, dir := range sites {
		names := h.GlobIn(dir, "*.pth")
		if len(names) > maxPathFiles {
			failed.Add(fmt.Errorf("%s: only the first %d of %d .pth files were read", dir, maxPathFiles, len(names)))
		}
		for _, name := range names[:min(len(names), maxPathFiles)] {
			data, err := h.ReadFile(name)
			failed.Add(err)
			for _, line := range parsePathFile(data) {
				list = line.addTo(h, dir, list)
			}
		}
	}
	return list
}

// pathLine is a directory that a .pth file adds to the import path.
type pathLine struct {
	dir   string
	first bool
}

// addTo adds the directory to an import path; one that a line puts first goes there, wherever it stood.
func (l pathLine) addTo(h *host.Host, site string, list []string) []string {
	dir := l.dir
	if !path.IsAbs(dir) {
		dir = path.Join(site, dir)
	}
	switch real, err := h.Resolve(dir); {
	case err != nil:
		return list
	case l.first:
		return slices.Insert(slices.DeleteFunc(list, func(d string) bool { return d == real }), 0, real)
	case !slices.Contains(list, real):
		return append(list, real)
	}
	return list
}

// insertsFirst matches a line that Python executes:
//
//	import sys; sys.path.insert(0, '/opt/patched')
var insertsFirst = lazyregexp.New(`^import .*\bsys\.path\.insert\(0,\s*r?['"]([^'"]+)['"]\)`)

// parsePathFile lists the paths of a .pth file: "/home/u/pytorch", not "import _virtualenv".
func parsePathFile(data []byte) []pathLine {
	var list []pathLine
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if m := insertsFirst.FindStringSubmatch(line); m != nil {
			list = append(list, pathLine{dir: m[1], first: true})
		} else if line != "" && line[0] != '#' && !strings.HasPrefix(line, "import ") &&
			!strings.HasPrefix(line, "import\t") {
			list = append(list, pathLine{dir: line})
		}
	}
	return list
}

// packageDir is the directory of a package: in the site itself, or where an editable installation of setuptools maps
// it.
func (s *site) packageDir(h *host.Host, name string) string {
	dir := path.Join(s.dir, name)
	if h.Exists(dir) {
		return dir
	}
	for _, finder := range h.GlobIn(s.dir, "__editable__*_finder.py") {
		if data, err := h.ReadFile(finder); err == nil {
			if mapped := parseFinder(data, name); mapped != "" {
				return mapped
			}
		}
	}
	return dir
}

// elsewhere reports whether another directory of the environment has a file: an editable installation's metadata stands
// apart from it.
func (s *site) elsewhere(h *host.Host, name string) bool {
	return slices.ContainsFunc(s.path, func(dir string) bool { return dir != s.dir && h.Exists(path.Join(dir, name)) })
}

var finderMapping = lazyregexp.New(`(?m)^MAPPING\b[^=\n]*=\s*\{(.*)\}`)

// parseFinder finds a package in the module that setuptools writes for an editable installation:
//
//	MAPPING: dict[str, str] = {'torch': '/home/u/pytorch/torch', 'torchgen': '/home/u/pytorch/torchgen'}
func parseFinder(data []byte, name string) string {
	m := finderMapping.FindSubmatch(data)
	if m == nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(m[1]), "'"+name+"': '")
	mapped, _, closed := strings.Cut(rest, "'")
	if !ok || !closed {
		return ""
	}
	return mapped
}
