// Package host reads the files of a machine, or of a directory tree that stands for one, and never leaves its root.
package host

import (
	"bytes"
	"cmp"
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

	"cudacompat/internal/budget"
	"cudacompat/internal/ldso"
)

// Host is what is examined: this machine, or a directory tree that stands for another one. Paths given to its methods
// are absolute as the target sees them. Symbolic links, also absolute ones, resolve inside the root as with chroot. A
// Host belongs to one goroutine and caches what it saw; each Run looks again.
type Host struct {
	Root string            // "/" for this machine
	Env  map[string]string // of the programs that are started here; nil where nobody knows it, as of a tree at rest
	Rest bool              // a tree at rest: no NVML, no devices, no processes
	// Start is the program that an image starts, as its configuration names it; empty elsewhere.
	Start string
	// Budget is what may be kept of it, and for how long it is read; nil bounds nothing.
	Budget *budget.Budget

	files     Files           // what stands in place of a directory; nil where Root is one
	removed   map[string]bool // what Without takes away
	fault     Fault           // what WithFaults makes fail
	offline   bool            // nothing that runs now is seen
	skipped   []Skipped       // what could not be seen since DrainSkipped
	skippedAt map[string]bool // their places
	lookups   lookups
}

// lookups caches results within a run, because most look-ups share a few directories.
type lookups struct {
	rootFS    rootFS
	loader    *ldso.Resolver
	resolved  map[string]resolution
	reached   map[string]error
	dirs      map[string][]fs.DirEntry
	listed    map[directory][]fs.DirEntry
	processes map[string]bool
	around    *surroundings
	pci       []PCIDevice
	block     []byte // of a file that is searched
}

// directory is a directory whatever it is called: /lib and /usr/lib are one on most systems.
type directory struct{ device, inode uint64 }

// resolution is what a name was resolved to.
type resolution struct {
	path string
	err  error
}

// Fresh returns h with empty caches. --wait looks again because something may have changed, and a look that was left
// behind on a dead mount may still write to the old ones.
func (h *Host) Fresh() *Host {
	return &Host{Root: h.Root, Env: h.Env, Rest: h.Rest, Start: h.Start, files: h.files, removed: h.removed, fault: h.fault, offline: h.offline}
}

// This returns the running machine with this process's environment.
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

// Tree returns the tree of files under root: a mounted image, an unpacked container, a node's /host.
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

// Starts reports whether it is known how programs start here: with the variables of this process, or with those of an
// image's configuration. A tree at rest does not show it.
func (h *Host) Starts() bool { return !h.Rest || h.Env != nil }

// rootFS opens the root on first use.
func (h *Host) rootFS() (rootFS, error) {
	if h.lookups.rootFS == nil {
		root, err := h.root()
		if err != nil {
			return nil, Plain(err)
		}
		if len(h.removed) > 0 {
			root = rootWithout{root, h.removed}
		}
		if h.offline {
			root = offlineRoot{root}
		}
		if h.fault != nil {
			root = faultyRoot{root, h.fault}
		}
		h.lookups.rootFS = root
	}
	return h.lookups.rootFS, nil
}

// root returns what the host's files are looked up in.
func (h *Host) root() (rootFS, error) {
	if h.files != nil {
		return &filesRoot{h.files.Readlink, h.files}, nil
	}
	return watched(h.watching(), func() (rootFS, error) { return rootAt(cmp.Or(h.Root, "/")) })
}

// Resolve returns name with every symbolic link followed inside the root. As in the kernel, ".." is the parent of what
// precedes it after links are followed, and the root's parent is the root.
func (h *Host) Resolve(name string) (string, error) {
	known, ok := h.lookups.resolved[name]
	if !ok {
		known.path, known.err = inRoot(h, name, rootFS.resolve)
		h.lookups.resolved = remember(h, h.lookups.resolved, name, known)
	}
	h.skip(name, known.err)
	return known.path, pathError("resolve", name, known.err)
}

// Readlink returns where a link points, empty for what is no link.
func (h *Host) Readlink(name string) (string, error) {
	target, err := inRoot(h, name, rootFS.readlink)
	h.skip(name, err)
	return target, pathError("readlink", name, err)
}

// inRoot asks the root for a name, unless its directory is known to be missing. Most things that are looked for do not
// exist, and neither does their directory.
func inRoot[T any](h *Host, name string, ask func(rootFS, string) (T, error)) (T, error) {
	var none T
	root, err := h.rootFS()
	if err != nil {
		return none, err
	}
	if dir := path.Dir(name); len(dir) > 1 && len(dir) < len(name) && !strings.Contains(name, "..") {
		if err := h.reach(dir); Absent(err) {
			return none, err
		}
	}
	return ask(root, name)
}

// pathError names the file as the target does. Links in a circle are the same mistake whatever was asked.
func pathError(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ELOOP):
		op = "resolve"
	}
	return &fs.PathError{Op: op, Path: name, Err: Plain(err)}
}

// answerSize is about what an answer takes in memory beside its name, in bytes.
const answerSize = 150

// remember keeps an answer while the budget has room for what can be asked again.
func remember[T any](h *Host, known map[string]T, name string, value T) map[string]T {
	if !h.Budget.Cache(len(name) + answerSize) {
		return known
	}
	if known == nil {
		known = map[string]T{}
	}
	known[name] = value
	return known
}

// Real returns where a resolved path lies on this machine.
func (h *Host) Real(resolved string) string { return filepath.Join(h.Root, resolved) }

// Open opens a regular file for positioned reads. Devices, pipes and directories are refused: opening them can
// block or have effects.
func (h *Host) Open(name string) (File, error) {
	f, err := inRoot(h, name, rootFS.open)
	h.skip(name, err)
	return f, pathError("open", name, err)
}

// Limits for reading one text file, in bytes: as a whole, which parsers copy once more, and in parts.
const (
	wholeCap = 8 << 20
	partsCap = 16 << 20 // dpkg's status is some 8 MB on a desktop
)

// ReadFile reads a regular file whole, without trusting its size: /proc and /sys say 0. More than 8 MiB is an error,
// and errors name the file as the target sees it.
func (h *Host) ReadFile(name string) ([]byte, error) { return h.ReadInto(name, nil) }

// ReadInto is ReadFile into an existing buffer, for reading many files one after the other: using new memory costs more
// than reading.
func (h *Host) ReadInto(name string, before []byte) ([]byte, error) {
	f, err := h.Open(name)
	if err != nil {
		return before[:0], err
	}
	defer f.Close()
	data, err := Whole(f, name, before)
	h.skip(name, err)
	return data, err
}

// Whole does what ReadInto does for a file that is open.
func Whole(f File, name string, before []byte) ([]byte, error) {
	data, err := readAll(f, wholeCap, before[:0])
	if err != nil {
		return data[:0], &fs.PathError{Op: "read", Path: name, Err: Plain(err)}
	}
	return data, nil
}

// HasLine reports whether a line of a text begins so. It keeps nothing of it: a RECORD has a megabyte.
func (h *Host) HasLine(name, beginning string) bool {
	f, err := h.OpenText(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if h.lookups.block == nil {
		h.lookups.block = make([]byte, 64<<10)
	}
	return hasLine(f, "\n"+beginning, h.lookups.block)
}

// hasLine reports whether a text contains a line, including its end. block holds a part of the text at a time.
func hasLine(r io.Reader, wanted string, block []byte) bool {
	for n := copy(block, "\n"); ; n = copy(block, block[max(n-len(wanted)+1, 0):n]) {
		more, err := r.Read(block[n:])
		n += more
		if bytes.Contains(block[:n], []byte(wanted)) {
			return true
		}
		if err != nil || more == 0 {
			return false
		}
	}
}

// OpenText opens a file of at most 16 MiB, to be read in parts.
func (h *Host) OpenText(name string) (File, error) {
	f, err := h.Open(name)
	if err != nil {
		return nil, err
	}
	if _, err := within(f, partsCap); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "read", Path: name, Err: Plain(err)}
	}
	return f, nil
}

// within returns a file's size, and an error where that is larger than the limit.
func within(f File, limit int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > limit {
		return 0, tooLarge(limit)
	}
	return info.Size(), nil
}

func tooLarge(limit int64) error { return fmt.Errorf("larger than %d MiB", limit>>20) }

// readAll reads a file of at most limit bytes; the size that it claims spares growing, and is not trusted.
func readAll(f File, limit int64, into []byte) ([]byte, error) {
	size, err := within(f, limit)
	if err != nil {
		return into, err
	}
	data := bytes.NewBuffer(slices.Grow(into, int(size)+bytes.MinRead))
	n, err := data.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit)
	}
	return data.Bytes(), err
}

// lineCap limits the first line of a file, in bytes. An attribute in sysfs has at most a page
// (Documentation/filesystems/sysfs.rst).
const lineCap = 4096

// ReadLine reads the first line of a file, such as those in /sys, without its line break. A line over 4 KiB is an
// error.
func (h *Host) ReadLine(name string) (string, error) {
	f, err := h.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, lineCap+1))
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if err == nil && len(line) > lineCap {
		line, err = nil, errLongLine
	}
	if err != nil {
		h.skip(name, err)
		err = &fs.PathError{Op: "read", Path: name, Err: Plain(err)}
	}
	return string(bytes.TrimSpace(line)), err
}

var errLongLine = fmt.Errorf("its first line is longer than %d KiB", lineCap>>10)

// ReadDir lists a directory by name, sorted; the list is shared, so it is not to be written to.
func (h *Host) ReadDir(name string) ([]fs.DirEntry, error) {
	if entries, ok := h.lookups.dirs[name]; ok {
		return entries, nil
	}
	dir, err := inRoot(h, name, rootFS.openDir)
	if err != nil {
		h.skip(name, err)
		return nil, pathError("list", name, err)
	}
	defer dir.Close()
	entries, err := h.listOnce(name, dir)
	if err != nil {
		h.skip(name, err)
		return nil, pathError("list", name, err)
	}
	entries = h.remaining(name, entries)
	h.lookups.dirs = remember(h, h.lookups.dirs, name, entries)
	return entries, nil
}

// listOnce lists a directory, if it was not listed under another name.
func (h *Host) listOnce(name string, dir dir) ([]fs.DirEntry, error) {
	id, known := dir.id()
	if entries, ok := h.lookups.listed[id]; ok && known {
		return entries, nil
	}
	entries, err := h.list(name, dir)
	if err == nil && known && h.Budget.Cache(answerSize) {
		if h.lookups.listed == nil {
			h.lookups.listed = map[directory][]fs.DirEntry{}
		}
		h.lookups.listed[id] = entries
	}
	return entries, err
}

// keptEntry is the cached part of a directory entry. Package os's own takes twice as much, which is 17 MB for a
// directory with 400,000 entries.
type keptEntry struct {
	name string
	kind fs.FileMode
}

func (e *keptEntry) Name() string               { return e.name }
func (e *keptEntry) IsDir() bool                { return e.kind.IsDir() }
func (e *keptEntry) Type() fs.FileMode          { return e.kind }
func (e *keptEntry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// entryTakes is what an entry takes in memory beside its name, in bytes.
const entryTakes = 40

// list lists a directory as far as the budget goes; that something was left out is noted.
func (h *Host) list(name string, dir dir) ([]fs.DirEntry, error) {
	all, err := dir.entries(func(some []keptEntry) error {
		size := 0
		for _, e := range some {
			size += len(e.name) + entryTakes
		}
		return h.Budget.Keep(len(some), size)
	})
	if errors.Is(err, budget.ErrSpent) {
		h.skipped = append(h.skipped, Skipped{Place: name, Cut: true,
			Reason: fmt.Sprintf("only %d of its entries were read: %v", len(all), err)})
	} else if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b keptEntry) int { return strings.Compare(a.name, b.name) })
	entries := make([]fs.DirEntry, len(all))
	for i := range all {
		entries[i] = &all[i]
	}
	return entries, nil
}

// namedEntries returns a directory's entries as the os package reads them, until one of them may not be kept.
func namedEntries(dir *os.File, keep func([]keptEntry) error) ([]keptEntry, error) {
	var all []keptEntry
	for {
		some, err := dir.ReadDir(4096)
		before := len(all)
		for _, e := range some {
			all = append(all, keptEntry{e.Name(), e.Type()})
		}
		if full := keep(all[before:]); full != nil {
			return all[:before], full
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// Exists reports whether name can be reached.
func (h *Host) Exists(name string) bool { return h.reach(name) == nil }

// Listed notes that a directory is there, as the listing of the one above it says, which spares asking for it.
func (h *Host) Listed(dir string) { h.lookups.reached = remember(h, h.lookups.reached, dir, nil) }

// reach returns why a name cannot be reached.
func (h *Host) reach(name string) error {
	err, ok := h.lookups.reached[name]
	if !ok {
		_, err = inRoot(h, name, func(root rootFS, name string) (bool, error) { return true, root.reach(name) })
		h.lookups.reached = remember(h, h.lookups.reached, name, err)
	}
	h.skip(name, err)
	return err
}

// Glob returns the paths that match pattern, sorted: those that exist, and those for which that is unknown, such as a
// circular link. Only names match: `*` never crosses a slash.
func (h *Host) Glob(pattern string) []string {
	return h.glob("/", strings.Split(strings.Trim(pattern, "/"), "/"))
}

// GlobIn does what Glob does below dir, whose own name may have any characters.
func (h *Host) GlobIn(dir, pattern string) []string { return h.glob(dir, strings.Split(pattern, "/")) }

func (h *Host) glob(dir string, rest []string) []string {
	if len(rest) == 0 {
		return []string{dir}
	}
	if !strings.ContainsAny(rest[0], "*?[") {
		next := path.Join(dir, rest[0])
		if Absent(h.reach(next)) {
			return nil
		}
		return h.glob(next, rest[1:])
	}
	entries, err := h.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	tail := rest[0][strings.LastIndexAny(rest[0], `*?]\`)+1:]
	for _, e := range beginning(entries, rest[0][:strings.IndexAny(rest[0], `*?[\`)]) {
		if !strings.HasSuffix(e.Name(), tail) { // told sooner than by path.Match, of a hundred thousand names
			continue
		}
		if ok, _ := path.Match(rest[0], e.Name()); ok && !unwantedHidden(rest[0], e.Name()) {
			found = append(found, h.glob(path.Join(dir, e.Name()), rest[1:])...)
		}
	}
	slices.Sort(found)
	return found
}

// beginning returns the entries of a sorted list whose names begin so.
func beginning(entries []fs.DirEntry, with string) []fs.DirEntry {
	first, _ := slices.BinarySearchFunc(entries, with, func(e fs.DirEntry, with string) int {
		return strings.Compare(e.Name(), with)
	})
	entries = entries[first:]
	after := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), with) })
	if after < 0 {
		return entries
	}
	return entries[:after]
}

func unwantedHidden(pattern, name string) bool { return name[0] == '.' && pattern[0] != '.' }

// Var returns a variable of the process environment, empty for a tree at rest.
func (h *Host) Var(name string) string { return h.Env[name] }

// Absent reports whether err means that the thing simply is not there.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Size returns a regular file's length in bytes.
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
