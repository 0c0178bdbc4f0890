package host

import (
	"io/fs"
	"path"
)

// Omit returns the same host as it would be if some files and directories were gone: those at these resolved paths,
// and all beneath them. Nothing is changed.
func (h *Host) Omit(gone map[string]bool) *Host {
	h = h.Fresh()
	h.removed = gone
	return h
}

// HasRemoved reports whether h was made by Without and leaves out at least one file.
func (h *Host) HasRemoved() bool { return len(h.removed) > 0 }

// rootWithout is a root in which some files are gone.
type rootWithout struct {
	rootFS
	removed map[string]bool // by their resolved paths
}

// checkPresent returns an error if a name leads to a removed file, or is itself a removed link.
func (l rootWithout) checkPresent(name string) error {
	resolved, err := l.rootFS.resolve(name)
	if err != nil {
		return err
	}
	dir, err := l.rootFS.resolve(path.Dir(name))
	if l.isGone(resolved) || err == nil && l.isGone(path.Join(dir, path.Base(name))) {
		return fs.ErrNotExist
	}
	return nil
}

// isGone reports whether a resolved path, or a directory above it, is gone.
func (l rootWithout) isGone(resolved string) bool {
	for ; len(resolved) > 1; resolved = path.Dir(resolved) {
		if l.removed[resolved] {
			return true
		}
	}
	return false
}

func (l rootWithout) reach(name string) error { return l.checkPresent(name) }

func (l rootWithout) resolve(name string) (string, error) {
	if err := l.checkPresent(name); err != nil {
		return "", err
	}
	return l.rootFS.resolve(name)
}

// readlink reads the link itself, which may be removed although its target is not.
func (l rootWithout) readlink(name string) (string, error) {
	dir, err := l.rootFS.resolve(path.Dir(name))
	if err == nil && l.isGone(path.Join(dir, path.Base(name))) {
		return "", fs.ErrNotExist
	}
	return l.rootFS.readlink(name)
}

func (l rootWithout) open(name string) (File, error) {
	if err := l.checkPresent(name); err != nil {
		return nil, err
	}
	return l.rootFS.open(name)
}

func (l rootWithout) openDir(name string) (dir, error) {
	if err := l.checkPresent(name); err != nil {
		return nil, err
	}
	return l.rootFS.openDir(name)
}

// remaining returns a directory's entries that are not gone.
func (h *Host) remaining(name string, entries []fs.DirEntry) []fs.DirEntry {
	if len(h.removed) == 0 {
		return entries
	}
	dir, err := h.Resolve(name)
	if err != nil {
		return entries
	}
	var left []fs.DirEntry
	for _, e := range entries {
		if !h.removed[path.Join(dir, e.Name())] {
			left = append(left, e)
		}
	}
	return left
}
