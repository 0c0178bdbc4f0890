package python

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// candidate is a place where an environment may be.
type candidate struct {
	root          string
	python        string // only this version, when not empty
	found         string // as Environment.Found
	active, named bool
}

// namedPython is what --env names: a prefix, or the interpreter in its bin directory. On this machine a relative path
// counts from the working directory.
func namedPython(h *host.Host, name string) candidate {
	if abs, err := filepath.Abs(name); err == nil && h.Root == "/" {
		name = abs
	}
	name = path.Clean("/" + name)
	if path.Base(path.Dir(name)) == "bin" && strings.HasPrefix(path.Base(name), "python") {
		if c, ok := pythonPrefix(h, name); ok {
			return c
		}
		name = path.Dir(path.Dir(name)) // its links may lead out of the tree
	}
	return candidate{root: name}
}

// pythonPrefix finds the prefix of an interpreter as CPython does: pyvenv.cfg beside the name as it was called, else
// where its links end.
func pythonPrefix(h *host.Host, binary string) (candidate, bool) {
	if path.Base(path.Dir(binary)) == "shims" {
		return pyenvPrefix(h, path.Dir(path.Dir(binary)))
	}
	real, err := h.Resolve(binary)
	if err != nil {
		return candidate{}, false
	}
	if root := path.Dir(path.Dir(binary)); h.Exists(path.Join(root, "pyvenv.cfg")) {
		return candidate{root: root}, true
	}
	c := candidate{root: path.Dir(path.Dir(real))}
	if m := pythonBinary.FindStringSubmatch(path.Base(real)); m != nil {
		c.python = m[1]
	}
	return c, true
}

// pyenvPrefix is what pyenv's shims start, which are scripts: the version named in a file, "3.11.7", "3.11" for the
// newest of its releases, or "system" for the next python3 on PATH.
func pyenvPrefix(h *host.Host, root string) (candidate, bool) {
	version, err := h.ReadLine(path.Join(root, "version"))
	if err != nil {
		return candidate{}, false
	}
	dir := path.Join(root, "versions", version)
	if newest := h.GlobIn(root, "versions/"+version+".*"); !h.Exists(dir) && len(newest) > 0 {
		slices.SortFunc(newest, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		dir = newest[len(newest)-1]
	}
	return candidate{root: dir}, isPrefix(h, dir)
}
