//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and the group of the old one, as far as the caller may; false says that it has
// another group.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	grouped := f.Chown(-1, int(was.Gid)) == nil
	_ = f.Chown(int(was.Uid), -1) // root alone may
	return grouped
}
