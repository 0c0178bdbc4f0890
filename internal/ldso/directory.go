package ldso

import (
	"errors"
	"io/fs"
	"strings"
)

// manyMisses is after how many names that are not in a directory it is listed. PyTorch's libraries look
// for each other in some 15 directories of a file or two, and a tree that resolves links by itself pays
// for each open that fails.
const manyMisses = 8

// directory is a directory that is searched again and again.
type directory struct {
	real   string // without symlinks and with a slash at the end; empty if there is none
	closed bool   // this user may not look into it
	misses int
	names  map[string]bool // of its files; nil if it has not been listed
}

// directory returns the directory of a path that ends with a slash.
func (p *Process) directory(name string) *directory {
	d := p.dirs[name]
	if d == nil {
		d = &directory{}
		real, err := p.r.FS.Resolve(name)
		if err == nil {
			d.real = strings.TrimRight(real, "/") + "/"
		}
		d.closed = errors.Is(err, fs.ErrPermission)
		p.dirs[name] = d
	}
	return d
}

// lacks reports whether a name is known not to be in the directory.
func (d *directory) lacks(name string) bool {
	return d.real == "" || d.names != nil && !d.names[name]
}

// miss counts a name that could not be opened. A directory that cannot be listed is still asked for each name.
func (d *directory) miss(fsys FS) {
	if d.misses++; d.misses != manyMisses {
		return
	}
	entries, err := fsys.ReadDir(d.real)
	if err != nil {
		return
	}
	d.names = make(map[string]bool, len(entries))
	for _, e := range entries {
		d.names[e.Name()] = true
	}
}
