package host

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelRoot lets the kernel resolve paths, with one call instead of a readlink for each part.
type kernelRoot struct {
	dir  *os.File // the root, as a place only
	fds  *os.File // /proc/self/fd, where a descriptor's file can be opened and says its path
	path string   // of the root, as the kernel writes paths
}

// rootAt opens a root. openat2 is missing before Linux 5.6, and older sandboxes refuse it. Without /proc nobody can say
// where it led.
func rootAt(dir string) (rootFS, error) {
	root, err := place(dir)
	if err != nil {
		return nil, err
	}
	r := &kernelRoot{dir: root}
	if r.fds, err = place("/proc/self/fd"); err == nil {
		r.path, err = r.pathOf(int(root.Fd()))
	}
	if err != nil || r.reach("/") != nil {
		root.Close()
		r.fds.Close()
		return walk(dir)
	}
	return r, nil
}

// place opens a directory as a place only.
func place(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// pathOf returns where an open file lies, as the kernel says.
func (r *kernelRoot) pathOf(fd int) (string, error) {
	path := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(r.fds.Fd()), strconv.Itoa(fd), path)
	return string(path[:max(n, 0)]), err
}

// retries are for look-ups that a rename anywhere on the machine has disturbed (EAGAIN, openat2(2)).
const retries = 100

// at opens a name below the root. It does not follow the links in /proc that lead to any file of a process.
func (r *kernelRoot) at(name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if name == "" {
		name = "/"
	}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(int(r.dir.Fd()), name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && tries < retries {
			continue
		}
		return fd, err
	}
}

func (r *kernelRoot) reach(name string) error {
	fd, err := r.at(name, unix.O_PATH)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// open examines the file before opening exactly that file, even if another one now has its name.
func (r *kernelRoot) open(name string) (File, error) {
	place, err := r.at(name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	var stat unix.Stat_t
	if err := unix.Fstat(place, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errNotRegular
	}
	fd, err := unix.Openat(int(r.fds.Fd()), strconv.Itoa(place), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openDir opens a directory; the kernel refuses anything else before it opens it.
func (r *kernelRoot) openDir(name string) (dir, error) {
	fd, err := r.at(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	// Of file systems that do not tell an entry's type, os asks for it by this name.
	return osDir{os.NewFile(uintptr(fd), filepath.Join(r.path, name))}, nil
}

var errNoPath = errors.New("its path is not known")

func (r *kernelRoot) readlink(name string) (string, error) {
	link, err := r.at(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer unix.Close(link)
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(link, "", target)
	if err == unix.ENOENT { // there, and not a link
		return "", nil
	}
	return string(target[:max(n, 0)]), err
}

// resolve asks the kernel where a name has led.
func (r *kernelRoot) resolve(name string) (string, error) {
	place, err := r.at(name, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(place)
	resolved, err := r.pathOf(place)
	if err != nil {
		return "", err
	}
	inside, ok := strings.CutPrefix(resolved+"/", strings.TrimSuffix(r.path, "/")+"/")
	if !ok {
		return "", errNoPath
	}
	return "/" + strings.TrimSuffix(inside, "/"), nil
}

// directoryOf returns the device and inode of an open directory, or false if fstat fails.
func directoryOf(dir *os.File) (directory, bool) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return directory{}, false
	}
	return directory{stat.Dev, stat.Ino}, true
}

// sizes asks for the files of one directory by its descriptor.
func (r *kernelRoot) sizes(dir string, names []string, sizes []int64) error {
	fd, err := r.at(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	for i, name := range names {
		switch err := unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); {
		case err == unix.ENOENT:
			sizes[i] = SizeGone
		case err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG:
			sizes[i] = stat.Size
		}
	}
	return nil
}
