package ldso_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"cudacompat/internal/ldso"
)

// rootFS is the tree under a directory, "" for the machine's own, with symlinks resolved as chroot
// would. Paths looked up are counted.
type rootFS struct {
	dir   string
	looks int
}

type osFile struct {
	*os.File
	size int64
}

func (f osFile) Size() int64 { return f.size }

func (t *rootFS) Open(name string) (ldso.File, error) {
	t.looks++
	real, err := t.Resolve(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(t.dir + real)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return osFile{f, info.Size()}, nil
}

func (t *rootFS) ReadDir(name string) ([]fs.DirEntry, error) {
	real, err := t.Resolve(name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(t.dir + real)
}

func (t *rootFS) Resolve(name string) (string, error) {
	real, rest, links := "", strings.Split(name, "/"), 0
	for ; len(rest) > 0; rest = rest[1:] {
		switch rest[0] {
		case "", ".":
			continue
		case "..":
			real = strings.TrimSuffix(filepath.Dir(real), "/")
			continue
		}
		next := real + "/" + rest[0]
		info, err := os.Lstat(t.dir + next)
		if err != nil {
			return "", absent(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(t.dir + next)
		if links++; err != nil || links > 40 {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			real = ""
		}
		rest = append([]string{""}, append(strings.Split(target, "/"), rest[1:]...)...)
	}
	return real + "/"[min(len(real), 1):], nil
}

// absent makes a parent that is no directory the same as no file.
func absent(err error) error {
	if e, ok := err.(*fs.PathError); ok && e.Err == syscall.ENOTDIR {
		e.Err = fs.ErrNotExist
	}
	return err
}
