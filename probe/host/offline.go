package host

import (
	"io/fs"
	"path"
	"strings"
)

// Offline returns the running root as it will be after the next boot: only its files, like a mounted tree without
// /proc, /sys and /dev. The loaded module, the devices and the PCI bus of the running machine say nothing about that
// boot.
func Offline() *Host { return &Host{Root: "/", Rest: true, offline: true} }

// runtimeDirs hold what the running kernel says.
var runtimeDirs = []string{"/proc", "/sys", "/dev"}

// isRuntime reports whether a name is in a file system in which the running kernel shows its state.
func isRuntime(name string) bool {
	if strings.Contains(name, "..") || strings.Contains(name, "//") {
		name = path.Clean("/" + name)
	}
	for _, dir := range runtimeDirs {
		if rest, ok := strings.CutPrefix(name, dir); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// offlineRoot is a root without anything about the current run. resolve checks links that lead there.
type offlineRoot struct{ rootFS }

func (r offlineRoot) reach(name string) error {
	if isRuntime(name) {
		return fs.ErrNotExist
	}
	return r.rootFS.reach(name)
}

func (r offlineRoot) resolve(name string) (string, error) {
	if isRuntime(name) {
		return "", fs.ErrNotExist
	}
	resolved, err := r.rootFS.resolve(name)
	if err == nil && isRuntime(resolved) {
		return "", fs.ErrNotExist
	}
	return resolved, err
}

func (r offlineRoot) readlink(name string) (string, error) {
	if isRuntime(name) {
		return "", fs.ErrNotExist
	}
	return r.rootFS.readlink(name)
}

func (r offlineRoot) open(name string) (File, error) {
	if isRuntime(name) {
		return nil, fs.ErrNotExist
	}
	return r.rootFS.open(name)
}

func (r offlineRoot) openDir(name string) (dir, error) {
	if isRuntime(name) {
		return nil, fs.ErrNotExist
	}
	return r.rootFS.openDir(name)
}

// sizes asks the root, if it can tell the sizes of a directory's files at once.
func (r offlineRoot) sizes(dir string, names []string, sizes []int64) error {
	s, ok := r.rootFS.(sizer)
	if !ok || isRuntime(dir) {
		return nil
	}
	return s.sizes(dir, names, sizes)
}
