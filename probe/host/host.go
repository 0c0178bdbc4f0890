// Package host reads the files of a machine, or of a tree that stands for one, and never leaves its root.
package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cudacompat/internal/ldso"
)

// Host is what is examined: this machine, or a tree of files that stands for another one. Every path given to its
// methods is absolute as the target sees it; symbolic links, absolute ones too, resolve inside the root as chroot
// would. It is for one goroutine, and keeps what it saw: each Run looks anew.
type Host struct {
	Root string            // "/" for this machine
	Env  map[string]string // the process environment; nil for a tree at rest
	Rest bool              // a tree at rest: no NVML, no devices, no process environment

	seen seen
}

// seen is what was asked once in a run and is asked again: most look-ups share a handful of directories.
type seen struct {
	loader    *ldso.Resolver
	links     map[string]linkTarget
	dirs      map[string][]fs.DirEntry
	processes map[string]bool
}

// linkTarget is what readlink said of a path: the target, empty for what is no link.
type linkTarget struct {
	target string
	err    error
}

// Anew is the same host before anything was seen. --wait looks again because something may have changed, and a look
// that was left behind on a dead mount still writes into its own.
func (h *Host) Anew() *Host { return &Host{Root: h.Root, Env: h.Env, Rest: h.Rest} }

// This is the running machine with this process's environment.
func This() *Host {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	if dir, err := os.Getwd(); err == nil {
		env["PWD"] = dir // what a shell says of it may be old
	}
	return &Host{Root: "/", Env: env}
}

// Tree is the tree of files under root: a mounted image, an unpacked container, a node's /host.
func Tree(root string) (*Host, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("root %q is not a directory", root)
	}
	return &Host{Root: abs, Rest: true}, nil
}

// maxLinks is Linux's own limit on symbolic links in one look-up (path_resolution(7)).
const maxLinks = 40

// Resolve returns name with every symbolic link followed inside the root. ".." is the parent of what stands before it
// once links are followed, as for the kernel, and the root's parent is the root.
func (h *Host) Resolve(name string) (string, error) {
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
		target, err := h.Readlink(next)
		if err != nil {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: Plain(err)}
		}
		if target == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		rest = append(strings.Split(target, "/"), rest...)
		if path.IsAbs(target) {
			at = "/"
		}
	}
	return at, nil
}

// Readlink is where a link at a resolved directory's entry points, empty for what is no link.
func (h *Host) Readlink(name string) (string, error) {
	if l, ok := h.seen.links[name]; ok {
		return l.target, l.err
	}
	target, err := os.Readlink(h.Real(name))
	if errors.Is(err, syscall.EINVAL) { // there, and not a link
		target, err = "", nil
	}
	if h.seen.links == nil {
		h.seen.links = map[string]linkTarget{}
	}
	h.seen.links[name] = linkTarget{target, err}
	return target, err
}

// Real is where a resolved path lies on this machine.
func (h *Host) Real(resolved string) string { return filepath.Join(h.Root, resolved) }

// Plain takes the cause out of a PathError, whose path would be this machine's and not the target's.
func Plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Open opens a regular file for positioned reads. Devices, pipes and directories are refused: opening them can
// block or have effects.
func (h *Host) Open(name string) (*os.File, error) {
	resolved, err := h.Resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(h.Real(resolved))
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: Plain(err)}
	}
	f, err := os.OpenFile(h.Real(resolved), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: Plain(err)}
	}
	return f, nil
}

var errNotRegular = errors.New("not a regular file")

// textCap bounds what is read of one text file; the largest that matters, dpkg's status, stays far below it.
const textCap = 32 << 20

// ReadFile reads a regular file whole, without trusting its size: /proc and /sys say 0.
func (h *Host) ReadFile(name string) ([]byte, error) {
	f, err := h.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, textCap+1)
	if err == nil && len(data) > textCap {
		err = fmt.Errorf("larger than %d MiB", textCap>>20)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: Plain(err)}
	}
	return data, nil
}

// readAll reads at most limit bytes of a file; the size that it claims spares growing, and is not trusted.
func readAll(f *os.File, limit int64) ([]byte, error) {
	var claimed int64
	if info, err := f.Stat(); err == nil {
		claimed = info.Size()
	}
	data := bytes.NewBuffer(make([]byte, 0, min(claimed, limit)+bytes.MinRead))
	_, err := data.ReadFrom(io.LimitReader(f, limit))
	return data.Bytes(), err
}

// ReadLine reads a file of one line, such as those of /sys, without the line's end.
func (h *Host) ReadLine(name string) (string, error) {
	data, err := h.ReadFile(name)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line), err
}

// ReadDir lists a directory by name, sorted; the list is shared, so it is not to be written to.
func (h *Host) ReadDir(name string) ([]fs.DirEntry, error) {
	resolved, err := h.Resolve(name)
	if err != nil {
		return nil, err
	}
	if entries, ok := h.seen.dirs[resolved]; ok {
		return entries, nil
	}
	entries, err := os.ReadDir(h.Real(resolved))
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: name, Err: Plain(err)}
	}
	if h.seen.dirs == nil {
		h.seen.dirs = map[string][]fs.DirEntry{}
	}
	h.seen.dirs[resolved] = entries
	return entries, nil
}

// Exists says whether name can be reached.
func (h *Host) Exists(name string) bool {
	_, err := h.Resolve(name)
	return err == nil
}

// Glob lists the paths that match pattern, sorted: those that exist, and those of which that cannot be said, such as
// a link that leads in a circle. Only names are matched: `*` never crosses a slash.
func (h *Host) Glob(pattern string) []string {
	return h.glob("/", strings.Split(strings.Trim(pattern, "/"), "/"))
}

// GlobIn is Glob below dir, whose own name may have any characters.
func (h *Host) GlobIn(dir, pattern string) []string { return h.glob(dir, strings.Split(pattern, "/")) }

func (h *Host) glob(dir string, rest []string) []string {
	if len(rest) == 0 {
		return []string{dir}
	}
	if !strings.ContainsAny(rest[0], "*?[") {
		next := path.Join(dir, rest[0])
		if _, err := h.Resolve(next); Absent(err) {
			return nil
		}
		return h.glob(next, rest[1:])
	}
	entries, err := h.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if ok, _ := path.Match(rest[0], e.Name()); ok && !unwantedHidden(rest[0], e.Name()) {
			found = append(found, h.glob(path.Join(dir, e.Name()), rest[1:])...)
		}
	}
	slices.Sort(found)
	return found
}

func unwantedHidden(pattern, name string) bool { return name[0] == '.' && pattern[0] != '.' }

// Var is a variable of the process environment, empty for a tree at rest.
func (h *Host) Var(name string) string { return h.Env[name] }

// Absent says whether err means that the thing simply is not there.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Size is a regular file's length in bytes.
func (h *Host) Size(name string) (int64, error) {
	f, err := h.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
