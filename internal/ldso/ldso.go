// Package ldso answers which files glibc's dynamic loader would map for a program or a library, and
// why these, by reading files only.
//
// A library is looked for by its name in this order, and the first fit is taken:
//
//  1. among the objects already loaded, by soname or by a name it was asked for before;
//  2. in the DT_RPATH of the object that needs it, of the object that loaded that one, and so on up
//     to the executable; all of these only if the object that needs it has no DT_RUNPATH;
//  3. in LD_LIBRARY_PATH;
//  4. in the DT_RUNPATH of the object that needs it, and of no other;
//  5. in /etc/ld.so.cache;
//  6. in the directories compiled into the loader.
//
// A name with a slash is a path and nothing is searched. A dlopen is searched on behalf of the object
// that calls it, but what it loads has no loader of its own: its needs inherit the executable's
// DT_RPATH only. A file of another class or machine is passed over; one that is no ELF file ends the
// search with an error.
//
// A [Resolver] holds what the search depends on, a [Process] what has been loaded so far.
//
// Not emulated, since nothing in the CUDA world is known to use them: LD_AUDIT, DT_AUXILIARY and
// DT_FILTER, dlmopen, the rules for setuid programs, and the subdirectories named after a CPU (tls,
// x86_64, haswell and their combinations) that loaders before glibc 2.37 tried in each directory. Hard
// links count as different files: a file is told by its resolved path.
package ldso

import (
	"fmt"
	"io"
	"io/fs"
)

// FS is the examined file tree. Paths are absolute, as a process in the tree sees them. They may contain "..", which
// means the parent of what precedes it after symlinks are resolved, so an implementation must not shorten them as text.
// Errors satisfy [errors.Is] for [fs.ErrNotExist] (also for a parent that is not a directory) and [fs.ErrPermission],
// which the search skips; any other error ends it.
type FS interface {
	// Open opens a regular file, following symlinks inside the tree.
	Open(path string) (File, error)
	// Resolve returns path without symlinks, "." or "..". The path must exist.
	Resolve(path string) (string, error)
	// ReadDir lists a directory, sorted by name. For one too large to be listed it can give an error.
	ReadDir(path string) ([]fs.DirEntry, error)
}

// File is an open file, read by position.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes when the file was opened.
	Size() int64
}

// readAll reads a whole file of at most limit bytes.
func readAll(fsys FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, fmt.Errorf("read %q: larger than %d bytes", path, limit)
	}
	b := make([]byte, f.Size())
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return b[:n], nil
}
