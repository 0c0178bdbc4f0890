package pyenv

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/pylines"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pysource"
)

// MaxPathFiles bounds the .pth files that are read of one directory; an environment has two or three.
const MaxPathFiles = 64

// AddPathFiles adds the directories in the .pth files of the sites, as Python does at startup: editable installations
// are there. Of the lines that Python executes, it reads those that put a directory first.
func AddPathFiles(h *host.Host, p Prefix, failed *host.Errors) []string {
	list := slices.Clone(p.Sites)
	add := func(dir, _, text string) {
		for _, line := range parsePathLine(text) {
			list = line.addDirectory(h, dir, list)
		}
	}
	eachPathLine(h, p.Sites, p.Python, failed, add)
	for _, name := range customizers {
		plain, _ := plainChanges(string(h.ReadQuietly(FirstModule(h, withLibraries(p.Sites), name))))
		for _, line := range plain {
			list = line.addDirectory(h, p.Sites[0], list)
			if line.site {
				eachPathLine(h, []string{line.in(p.Sites[0])}, p.Python, failed, add)
			}
		}
	}
	return list
}

// eachPathLine calls do for each line of the .pth files of the sites, with the site and the file's name. A directory that a
// line adds with site.addsitedir is a site itself, whose .pth files count, too.
func eachPathLine(h *host.Host, sites []string, python string, failed *host.Errors, do func(dir, name, line string)) {
	sites = slices.Clone(sites)
	for i := 0; i < len(sites); i++ {
		dir := sites[i]
		names := h.GlobIn(dir, "*.pth")
		if len(names) > MaxPathFiles {
			failed.Add(fmt.Errorf("%s: only the first %d of %d .pth files were read", dir, MaxPathFiles, len(names)))
		}
		for _, name := range names[:min(len(names), MaxPathFiles)] {
			data, err := h.ReadFile(name)
			failed.Add(err)
			for line := range pathLines(string(data), python) {
				do(dir, name, line)
				for _, added := range parsePathLine(line) {
					real, err := h.Resolve(added.in(dir))
					if added.site && err == nil && !slices.Contains(sites, real) && len(sites) < MaxPathFiles {
						sites = append(sites, real)
					}
				}
			}
		}
	}
}

// pathLines returns the lines of a .pth file. Python takes for a line what the others of its release do: from 3.13 on, a byte
// order mark may stand first, and a line ends wherever str.splitlines says; before, it ends in any kind of newline.
func pathLines(text, python string) iter.Seq[string] {
	if python != "" && version.CompareTexts(version.ShortPython(strings.TrimSuffix(python, "t")), "3.13") < 0 {
		return strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	}
	return pylines.Split(strings.TrimPrefix(text, "\ufeff"))
}

// customizers are the modules that Python imports when it starts, where they are.
var customizers = []string{"sitecustomize", "usercustomize"}

// withLibraries returns package directories and the standard libraries above them.
func withLibraries(sites []string) []string {
	list := slices.Clone(sites)
	for _, dir := range sites {
		if above := path.Dir(dir); !slices.Contains(list, above) {
			list = append(list, above)
		}
	}
	return list
}

// UnfollowedFiles returns the files with code that Python runs when it starts and that may lead it to packages
// elsewhere, in ways that cannot be read.
func UnfollowedFiles(h *host.Host, index *pydist.Index, p Prefix, builds []facts.Build) []string {
	var list []string
	eachPathLine(h, p.Sites, p.Python, &host.Errors{}, func(_, name, line string) {
		if isCode(line) && !follows(h, index, p.Sites, builds, line) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	})
	for _, name := range customizers {
		file := FirstModule(h, withLibraries(p.Sites), name)
		if code := string(h.ReadQuietly(file)); !plain(code) && !findsOthers(index, builds, file, code) {
			list = append(list, file)
		}
	}
	return list
}

// follows reports whether the effect of a .pth line on the import path is known: none, plain changes, or the finder of
// an editable installation, which names its packages.
func follows(h *host.Host, index *pydist.Index, sites []string, builds []facts.Build, line string) bool {
	if !plain(line) {
		return false
	}
	for _, m := range importsModule.FindAllStringSubmatch(line, MaxMatches) {
		name := m[1] + m[2] + m[3]
		if harmless[name] || strings.HasPrefix(name, "__editable___") || pysource.Standard(name, "") {
			continue
		}
		file := FirstModule(h, sites, name)
		if code := string(h.ReadQuietly(file)); !plain(code) && !findsOthers(index, builds, file, code) {
			return false
		}
	}
	return true
}

// plain reports whether all that code does with the import path can be read.
func plain(code string) bool {
	_, all := plainChanges(code)
	return all
}

// findsOthers reports whether code installs a finder, and nothing else, that finds no package of a build: it names the
// packages that it finds, and none is one of these. A build's own finder, as numba-cuda's, finds what its wheel has.
//
//	class Finder(importlib.abc.MetaPathFinder):
//	    def find_spec(self, name, path, target=None):
//	        if name == "google.cloud.bigquery":
func findsOthers(index *pydist.Index, builds []facts.Build, file, code string) bool {
	for _, change := range changesPath.FindAllString(code, MaxMatches) {
		if change != "meta_path" {
			return false
		}
	}
	names := map[string]bool{}
	for _, m := range quotedModule.FindAllStringSubmatch(code, MaxMatches) {
		names[m[1]] = true
	}
	for i := range builds {
		if b := &builds[i]; !index.At(path.Dir(b.From)).Record().Has(path.Base(file)) && findsAny(index, b, names) {
			return false
		}
	}
	return len(names) > 0 && !names["nvidia"]
}

// quotedModule matches a module name in quotes and captures its package.
var quotedModule = lazyregexp.New(`['"]([A-Za-z_]\w*)(?:\.\w+)*\.?['"]`)

// findsAny reports whether one of some names is a package of a build's wheel.
func findsAny(index *pydist.Index, b *facts.Build, names map[string]bool) bool {
	if names[strings.ReplaceAll(b.Name, "-", "_")] {
		return true
	}
	return strings.HasSuffix(b.From, "/RECORD") &&
		slices.ContainsFunc(index.At(path.Dir(b.From)).Record().Modules(), func(module string) bool { return names[module] })
}

var importsModule = lazyregexp.New(`\bimport[ \t]+(\w+)|__import__\(['"](\w+)['"]|(\w+)\.__path__`)

// harmless are modules with finders of distutils alone: virtualenv's and setuptools'.
var harmless = map[string]bool{"_virtualenv": true, "_distutils_hack": true}

// pathLine is a directory that a .pth file adds to the import path.
type pathLine struct {
	dir   string
	first bool
	site  bool // its own .pth files are read
}

// in returns the directory as a line of a site's file means it.
func (l pathLine) in(site string) string {
	if path.IsAbs(l.dir) {
		return l.dir
	}
	return path.Join(site, l.dir)
}

// addDirectory adds the directory to an import path. A line that puts it first moves it there.
func (l pathLine) addDirectory(h *host.Host, site string, list []string) []string {
	switch real, err := h.Resolve(l.in(site)); {
	case err != nil:
		return list
	case l.first:
		return slices.Insert(slices.DeleteFunc(list, func(d string) bool { return d == real }), 0, real)
	case !slices.Contains(list, real):
		return append(list, real)
	}
	return list
}

// changesPath matches what code changes the import path with, and plainChange the plain forms, of which the directory can
// be read, a directory of a package beside it being one:
//
//	import sys; sys.path.insert(0, '/opt/patched')
//	import site; site.addsitedir('/opt/more')
//	import sys, os, nvidia_cutlass_dsl; sys.path.insert(0, os.path.join(nvidia_cutlass_dsl.__path__[0], 'dsl_packages'))
var (
	changesPath = lazyregexp.New(`sys\.path\b|addsitedir|meta_path|path_hooks`)
	plainChange = lazyregexp.New(`(?:sys\.path\.(append|insert)\((?:0,)?|addsitedir\()\s*` +
		`(?:r?['"]([^'"\n]+)['"]|os\.path\.join\((\w+)\.__path__\[0\],\s*['"]([^'"\n]+)['"]\))\s*\)`)
)

// plainChanges returns the directories that code adds to the import path, and whether that is all that it does with it.
func plainChanges(code string) (list []pathLine, all bool) {
	found := plainChange.FindAllStringSubmatch(code, MaxMatches)
	for _, m := range found {
		list = append(list, pathLine{dir: m[2] + path.Join(m[3], m[4]), first: m[1] == "insert", site: m[1] == ""})
	}
	return list, len(found) == len(changesPath.FindAllString(code, MaxMatches))
}

// parsePathLine returns the paths that a line of a .pth file adds: "/home/u/pytorch", not "import _virtualenv".
func parsePathLine(line string) []pathLine {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	switch {
	case isCode(line):
		plain, _ := plainChanges(line)
		return plain
	case strings.TrimSpace(line) == "" || line[0] == '#':
		return nil
	}
	return []pathLine{{dir: line}}
}

// isCode reports whether a line of a .pth file is code.
func isCode(line string) bool {
	return strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import\t")
}

// PackageDir returns the directory of a package: in the site itself, or where an editable installation of setuptools
// maps it.
func (s *Site) PackageDir(h *host.Host, name string) string {
	dir := path.Join(s.Dir, name)
	if h.Exists(dir) {
		return dir
	}
	for _, finder := range finders(h, s.Dir) {
		if mapped := parseFinder(h.ReadQuietly(finder), name); mapped != "" {
			return mapped
		}
	}
	return dir
}

// finders returns the modules that setuptools and hatch write for editable installations.
func finders(h *host.Host, dir string) []string {
	return append(h.GlobIn(dir, "__editable__*_finder.py"), h.GlobIn(dir, "_editable_impl_*.py")...)
}

// Elsewhere reports whether another directory of the environment has a file, because the metadata of an editable
// installation is separate from it.
func (s *Site) Elsewhere(h *host.Host, name string) bool {
	return slices.ContainsFunc(s.Path, func(dir string) bool { return dir != s.Dir && h.Exists(path.Join(dir, name)) })
}

var mapsModule = lazyregexp.New(`map_module\('([^'\n]+)',\s*'([^'\n]+)/__init__\.py'\)`)

var finderMapping = lazyregexp.New(`(?m)^MAPPING\b[^=\n]*=\s*\{(.*)\}`)

// parseFinder finds a package in the module that setuptools or hatch writes for an editable installation:
//
//	MAPPING: dict[str, str] = {'torch': '/home/u/pytorch/torch', 'torchgen': '/home/u/pytorch/torchgen'}
//	F.map_module('torch', '/home/u/pytorch/torch/__init__.py')
func parseFinder(data []byte, name string) string {
	for _, m := range mapsModule.FindAllSubmatch(data, MaxMatches) {
		if string(m[1]) == name {
			return string(m[2])
		}
	}
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

// MaxMatches bounds how much of one kind is read of a source file: PyTorch's version.py has six assignments.
const MaxMatches = 1000
