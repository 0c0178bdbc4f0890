package pyenv

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// Candidate is a place where an environment may be.
type Candidate struct {
	Root          string
	Python        string // only this version, when not empty
	Found         string // as Environment.Found
	Active, Named bool
}

// NamedPython returns what --env names: a prefix, the interpreter in its bin directory, or pyenv's shim of one. On this
// machine a relative path counts from the working directory.
func NamedPython(h *host.Host, name string) Candidate {
	if abs, err := filepath.Abs(name); err == nil && h.Root == "/" {
		name = abs
	}
	name = path.Clean("/" + name)
	if dir := path.Base(path.Dir(name)); (dir == "bin" || dir == "shims") && strings.HasPrefix(path.Base(name), "python") {
		if c, ok := pythonPrefix(h, name); ok {
			return c
		}
		name = path.Dir(path.Dir(name)) // its links may lead out of the tree
	}
	return Candidate{Root: name}
}

// pythonPrefix returns the prefix of an interpreter as CPython determines it: by a pyvenv.cfg beside the name as it was
// called, otherwise by the end of its links.
func pythonPrefix(h *host.Host, binary string) (Candidate, bool) {
	if path.Base(path.Dir(binary)) == "shims" {
		return pyenvPrefix(h, path.Dir(path.Dir(binary)))
	}
	real, err := h.Resolve(binary)
	if err != nil {
		return Candidate{}, false
	}
	if root := path.Dir(path.Dir(binary)); h.Exists(path.Join(root, "pyvenv.cfg")) {
		return Candidate{Root: root}, true
	}
	c := Candidate{Root: path.Dir(path.Dir(real))}
	if m := pythonBinary.FindStringSubmatch(path.Base(real)); m != nil {
		c.Python = m[1]
	}
	return c, true
}

// pyenvPrefix returns what pyenv's shims start, which are scripts: the version named in a file, "3.11.7", "3.11" for
// the newest of its releases, or "system" for the next python3 on PATH.
func pyenvPrefix(h *host.Host, root string) (Candidate, bool) {
	version, err := h.ReadLine(path.Join(root, "version"))
	if err != nil {
		return Candidate{}, false
	}
	dir := path.Join(root, "versions", version)
	if newest := h.GlobIn(root, "versions/"+version+".*"); !h.Exists(dir) && len(newest) > 0 {
		slices.SortFunc(newest, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		dir = newest[len(newest)-1]
	}
	return Candidate{Root: dir}, IsPrefix(h, dir)
}
