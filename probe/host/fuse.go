package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cudacompat/internal/budget"
)

// FUSEMounts returns the FUSE file systems that this process sees, without touching them. The file system of the root is
// left out: without it no program starts here.
func FUSEMounts() []Mount {
	data, err := readOwn("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return fuseAmong(string(data))
}

// readOwn reads a file of this process in /proc. It does not wait for a pipe that somebody has mounted over it.
func readOwn(name string) ([]byte, error) {
	f, err := regular(os.OpenFile(name, os.O_RDONLY|NonBlock, 0))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// fuseAmong returns the FUSE file systems of a mountinfo(5) that nothing else is mounted over.
func fuseAmong(mountinfo string) []Mount {
	if !strings.Contains(mountinfo, " - fuse") {
		return nil
	}
	mounts := ParseMounts(mountinfo)
	var list []Mount
	for i, m := range mounts {
		fuse := m.Kind == "fuse" || m.Kind == "fuseblk" || strings.HasPrefix(m.Kind, "fuse.")
		if m.Point != "/" && fuse && At(mounts, m.Point) == &mounts[i] {
			m.Point = unescapeMount(m.Point)
			list = append(list, m)
		}
	}
	return list
}

// unescapeMount undoes how mountinfo writes blanks and backslashes in a path: `\040` is a space.
func unescapeMount(point string) string {
	var b strings.Builder
	for i := 0; i < len(point); i++ {
		if code, err := strconv.ParseUint(point[i+1:min(i+4, len(point))], 8, 8); point[i] == '\\' && err == nil {
			b.WriteByte(byte(code))
			i += 3
			continue
		}
		b.WriteByte(point[i])
	}
	return b.String()
}

// LeadsTo reports whether an absolute path of this machine may lead to one of the mounts, and whether one of them is
// below it. It follows links up to a mount and does not touch the mount.
func LeadsTo(mounts []Mount, name string) (there, beneath bool) {
	resolved, err := stepwise(func(place string) (string, error) {
		if slices.ContainsFunc(mounts, func(m Mount) bool { return m.Point == place }) {
			there = true
			return "", syscall.ETIMEDOUT
		}
		target, err := os.Readlink(place)
		if errors.Is(err, syscall.EINVAL) { // there, and not a link
			return "", nil
		}
		return target, err
	}).resolve(name)
	return there, err == nil && slices.ContainsFunc(mounts, func(m Mount) bool {
		return strings.HasPrefix(m.Point, strings.TrimSuffix(resolved, "/")+"/")
	})
}

// A stallError says that a FUSE file system did not answer in time. It is ETIMEDOUT.
type stallError struct{ mount string }

func (e *stallError) Error() string { return "the FUSE file system " + e.mount + " did not answer" }
func (e *stallError) Unwrap() error { return syscall.ETIMEDOUT }

// leastShare is the minimum time for a call, and unboundedShare the time for the first call in a run without a limit.
const (
	leastShare     = 30 * time.Millisecond
	unboundedShare = 5 * time.Second
)

// watch abandons calls that a FUSE file system does not answer. The kernel lets nobody out of such a call, so the
// goroutine that made it stays behind.
type watch struct {
	mounts []Mount
	root   string // of the host, as this machine names it
	budget *budget.Budget

	mu      sync.Mutex
	stalled map[string]*stallError // by the place that was asked for
}

// watching returns the watch over reading a host, or nil if no FUSE file system is mounted.
func (h *Host) watching() *watch {
	mounts := FUSEMounts()
	if len(mounts) == 0 || h.files != nil {
		return nil
	}
	return &watch{mounts: mounts, root: path.Clean("/" + h.Root), budget: h.Budget, stalled: map[string]*stallError{}}
}

// share returns how long a call may take: half of the time that is left, and after each call that was not answered a
// smaller part of it, so that what other file systems hold is still read.
func (w *watch) share() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, limited := w.budget.Left()
	if !limited {
		left = 2 * unboundedShare
	}
	return max(left>>(min(len(w.stalled), 20)+1), min(leastShare, left))
}

// known returns the error of a place that did not answer before, or that is inside one that did not.
func (w *watch) known(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; len(w.stalled) > 0 && len(name) > 1; name = path.Dir(name) {
		if err, ok := w.stalled[name]; ok {
			return err
		}
	}
	return nil
}

// stall notes that a place did not answer.
func (w *watch) stall(name string) error {
	err := &stallError{w.mountOf(name)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled[name] = err
	return err
}

// mountOf names the mount that holds a place, as far as its name shows it.
func (w *watch) mountOf(name string) string {
	place, best := path.Join(w.root, name), ""
	for _, m := range w.mounts {
		if strings.HasPrefix(place+"/", strings.TrimSuffix(m.Point, "/")+"/") && len(m.Point) > len(best) {
			best = m.Point
		}
	}
	if best == "" && len(w.mounts) == 1 {
		best = w.mounts[0].Point
	}
	if best == "" {
		return "that it leads to"
	}
	return fmt.Sprintf("at %s", best)
}

// onFUSE reports whether an open file lies on a FUSE file system. Where the kernel does not tell, it may.
//
//	pos:	0
//	flags:	0100000
//	mnt_id:	29
func (w *watch) onFUSE(file any) bool {
	f, ok := file.(interface{ Fd() uintptr })
	if !ok {
		return true
	}
	data, err := readOwn(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	_, after, found := strings.Cut(string(data), "mnt_id:")
	id, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	return err != nil || !found || slices.ContainsFunc(w.mounts, func(m Mount) bool { return m.ID == id })
}

// inShare makes a call that may not be answered, and gives up when its share of the time is over.
func inShare[T any](w *watch, name string, call func() (T, error)) (T, error) {
	var none T
	if err := w.known(name); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	late := time.NewTimer(w.share())
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
		return none, w.stall(name)
	}
}

// watchedRoot is a root on a machine where FUSE file systems are mounted.
type watchedRoot struct {
	rootFS
	watch *watch
}

// watched returns a root whose calls are watched over, if something is to be.
func watched(w *watch, open func() (rootFS, error)) (rootFS, error) {
	if w == nil {
		return open()
	}
	root, err := inShare(w, "/", open)
	if err != nil {
		return nil, err
	}
	return watchedRoot{root, w}, nil
}

func (r watchedRoot) reach(name string) error {
	_, err := inShare(r.watch, name, func() (bool, error) { return true, r.rootFS.reach(name) })
	return err
}

func (r watchedRoot) resolve(name string) (string, error) {
	return inShare(r.watch, name, func() (string, error) { return r.rootFS.resolve(name) })
}

func (r watchedRoot) readlink(name string) (string, error) {
	return inShare(r.watch, name, func() (string, error) { return r.rootFS.readlink(name) })
}

func (r watchedRoot) open(name string) (File, error) {
	f, err := inShare(r.watch, name, func() (File, error) { return r.rootFS.open(name) })
	if err != nil || !r.watch.onFUSE(f) {
		return f, err
	}
	return &watchedFile{f, name, r.watch}, nil
}

func (r watchedRoot) openDir(name string) (dir, error) {
	d, err := inShare(r.watch, name, func() (dir, error) { return r.rootFS.openDir(name) })
	if err != nil || !r.watch.onFUSE(d) {
		return d, err
	}
	return watchedDir{d, name, r.watch}, nil
}

// sizes asks the root, if it can tell the sizes of a directory's files at once.
func (r watchedRoot) sizes(dir string, names []string, sizes []int64) error {
	s, ok := r.rootFS.(sizer)
	if !ok {
		return nil
	}
	told, err := inShare(r.watch, dir, func() ([]int64, error) {
		own := slices.Clone(sizes)
		return own, s.sizes(dir, names, own)
	})
	copy(sizes, told)
	return err
}

// watchedFile is a file on a FUSE file system. What is read late goes into a buffer of its own.
type watchedFile struct {
	File
	name  string
	watch *watch
}

func (f *watchedFile) into(p []byte, read func([]byte) (int, error)) (int, error) {
	own, err := inShare(f.watch, f.name, func() ([]byte, error) {
		own := make([]byte, len(p))
		n, err := read(own)
		return own[:max(n, 0)], err
	})
	return copy(p, own), err
}

func (f *watchedFile) Read(p []byte) (int, error) { return f.into(p, f.File.Read) }

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	return f.into(p, func(own []byte) (int, error) { return f.File.ReadAt(own, off) })
}

func (f *watchedFile) Stat() (os.FileInfo, error) {
	return inShare(f.watch, f.name, f.File.Stat)
}

// Close waits for no answer: nothing was written.
func (f *watchedFile) Close() error { return f.watch.close(f.name, f.File) }

// close closes a file or directory, unless a call that was left behind may still use it.
func (w *watch) close(name string, file io.Closer) error {
	if w.known(name) == nil {
		go file.Close()
	}
	return nil
}

// watchedDir is a directory on a FUSE file system.
type watchedDir struct {
	dir
	name  string
	watch *watch
}

func (d watchedDir) id() (directory, bool) {
	type told struct {
		id directory
		ok bool
	}
	t, err := inShare(d.watch, d.name, func() (told, error) {
		id, ok := d.dir.id()
		return told{id, ok}, nil
	})
	return t.id, t.ok && err == nil
}

func (d watchedDir) entries(keep func([]keptEntry) error) ([]keptEntry, error) {
	return inShare(d.watch, d.name, func() ([]keptEntry, error) { return d.dir.entries(keep) })
}

func (d watchedDir) Close() error { return d.watch.close(d.name, d.dir) }
