package host

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
)

// rootFS opens files below a root. Links resolve inside it as with chroot, and replacing a file during a look-up cannot
// lead outside.
type rootFS interface {
	// reach reports why a name leads to nothing.
	reach(name string) error
	// resolve returns the name without links.
	resolve(name string) (string, error)
	// readlink is where a link points, empty for what is no link.
	readlink(name string) (string, error)
	// open opens a regular file, and nothing else: opening a pipe can block, opening a device can have effects.
	open(name string) (File, error)
	openDir(name string) (dir, error)
}

// dir is a directory that is listed.
type dir interface {
	// id identifies a directory, if the system can.
	id() (directory, bool)
	// entries are what is in it, in any order, until one of them may not be kept.
	entries(keep func([]keptEntry) error) ([]keptEntry, error)
	Close() error
}

// osDir is a directory of this machine.
type osDir struct{ *os.File }

func (d osDir) id() (directory, bool) { return directoryOf(d.File) }

func (d osDir) entries(keep func([]keptEntry) error) ([]keptEntry, error) {
	return entriesOf(d.File, keep)
}

func listable(f *os.File, err error) (dir, error) {
	if err != nil {
		return nil, err
	}
	return osDir{f}, nil
}

var errNotRegular = errors.New("not a regular file")

// regular returns the file, unless it is something else.
func regular(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// steppingRoot is a root on systems, and in sandboxes, that cannot resolve paths inside a root. It follows links step
// by step, and os.Root opens the result without following links out of the root.
type steppingRoot struct {
	stepwise
	root  *os.Root
	mu    sync.Mutex // a call that was left behind may still write
	links map[string]linkTarget
}

// stepwise follows links itself. Its function returns the target of a link at an entry of a resolved directory, or
// nothing if the entry is no link.
type stepwise func(resolved string) (target string, err error)

// linkTarget is the result of readlink for a path: the target, or empty for anything but a link.
type linkTarget struct {
	target string
	err    error
}

func walk(dir string) (rootFS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &steppingRoot{root: root, links: map[string]linkTarget{}}
	w.stepwise = w.target
	return w, nil
}

// relative returns a resolved path as os.Root wants it.
func relative(resolved string) string { return strings.TrimPrefix(path.Join("./", resolved), "/") }

// maxLinks is Linux's own limit on symbolic links in one look-up (path_resolution(7)).
const maxLinks = 40

// resolve follows links. As in the kernel, ".." is the parent of what precedes it after links are followed, and the
// root's parent is the root.
func (target stepwise) resolve(name string) (string, error) {
	at, rest := "/", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		to, err := target(next)
		if err != nil {
			return "", err
		}
		if to == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		rest = append(strings.Split(to, "/"), rest...)
		if path.IsAbs(to) {
			at = "/"
		}
	}
	return at, nil
}

// target returns the target of a link at an entry of a resolved directory, or "" for anything but a link.
func (w *steppingRoot) target(name string) (string, error) {
	w.mu.Lock()
	l, ok := w.links[name]
	w.mu.Unlock()
	if ok {
		return l.target, l.err
	}
	target, err := w.root.Readlink(relative(name))
	if errors.Is(err, syscall.EINVAL) { // there, and not a link
		target, err = "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[name] = linkTarget{target, Plain(err)}
	return target, Plain(err)
}

func (target stepwise) readlink(name string) (string, error) {
	above, last := path.Split(name) // not path.Dir, which takes ".." for the parent of a link
	dir, err := target.resolve(above)
	if err != nil {
		return "", err
	}
	return target(path.Join(dir, last))
}

func (target stepwise) reach(name string) error {
	_, err := target.resolve(name)
	return err
}

func (w *steppingRoot) open(name string) (File, error) {
	resolved, err := w.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := w.root.Lstat(relative(resolved))
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, err
	}
	return regular(w.root.OpenFile(relative(resolved), os.O_RDONLY|NonBlock, 0))
}

func (w *steppingRoot) openDir(name string) (dir, error) {
	resolved, err := w.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := w.root.Lstat(relative(resolved))
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	return listable(w.root.OpenFile(relative(resolved), os.O_RDONLY|NonBlock, 0))
}

// Plain takes the cause out of a PathError, whose path would be this machine's and not the target's.
func Plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
