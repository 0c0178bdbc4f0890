package image

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Files of these sizes, in bytes, are kept whole where their names say that they are read.
const (
	anyText  = 64 << 10 // whatever its name
	metaText = 16 << 20 // what installers and the loader write
	database = 48 << 20 // of packages
)

var (
	// metaFile matches what installers, package managers and the loader write.
	metaFile = lazyregexp.New(`\.(?:dist|egg)-info/[^/]+$|/conda-meta/[^/]+\.json$|\.egg-link$|\.pth$|/pyvenv\.cfg$|` +
		`^/etc/|^/var/lib/dpkg/status|^/(?:usr/)?lib/apk/db/|/modules\.(?:dep|builtin)$`)
	// databaseFile matches the databases of rpm, in all the places and forms that they have had.
	databaseFile = lazyregexp.New(`^/(?:var/lib|usr/lib/sysimage)/rpm/`)
	// pythonFile matches the Python files that are read: what packages say of themselves, and what leads elsewhere.
	pythonFile = lazyregexp.New(`(?:^|/)(?:__init__|_?version|build_info|__editable__.*|sitecustomize|usercustomize)\.py$`)
	// idleFile matches files that nobody reads and of which images are full: sources, headers, pictures, data, manuals.
	idleFile = lazyregexp.New(`\.(?:py|pyc|pyi|pyx|pxd|h|hpp|hh|cuh|inc|inl|c|cc|cpp|cu|o|a|js|mjs|ts|map|css|html|svg|png|gif|jpe?g|` +
		`gz|xz|bz2|zip|whl|jar|mo|po|ttf|woff2?|npy|npz|safetensors|rst|md|pl|pm|rb|tcl|cmake|ipynb|pdf)$|` +
		`/(?:site|dist)-packages/.*/include/|^/usr/share/(?:doc|man|locale|info|zoneinfo|i18n|perl|icons)/`)
)

// keepsWhole reports whether a file that is no program and no library is kept.
func keepsWhole(name string, size int64) bool {
	switch {
	case databaseFile.MatchString(name):
		return size <= database
	case metaFile.MatchString(name):
		return size <= metaText
	case pythonFile.MatchString(name):
		return size <= 1<<20
	}
	return size <= anyText && !idleFile.MatchString(name)
}

// clean returns a name of a tar archive as a path of the tree; what would lead above the root stays at the root, as
// where a runtime unpacks it.
func clean(name string) (dir, base string) {
	name = path.Clean("/" + name)
	if name == "/" {
		return "/", ""
	}
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 1)], name[i+1:]
}
