//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// isPutByOthers reports whether a file in a sticky directory that everybody can write belongs to neither the caller nor
// the directory's owner.
func isPutByOthers(dir string, file fs.FileInfo) bool {
	in, err := os.Stat(dir)
	if err != nil || in.Mode()&fs.ModeSticky == 0 || in.Mode().Perm()&0o002 == 0 {
		return false
	}
	owner, isFile := file.Sys().(*syscall.Stat_t)
	directory, isDir := in.Sys().(*syscall.Stat_t)
	return isFile && isDir && int(owner.Uid) != os.Geteuid() && owner.Uid != directory.Uid
}

// keepOwner gives a new file the owner and group of the old one, as far as the caller may. It returns false if the
// group differs.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	grouped := f.Chown(-1, int(was.Gid)) == nil
	_ = f.Chown(int(was.Uid), -1) // root alone may
	return grouped
}
