//go:build unix

package config

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// nonblocking is the flag with which opening a pipe does not wait for its writer.
const nonblocking = syscall.O_NONBLOCK

// ownerTrusted reports whether a file is root's, this user's, or that of the user for whom sudo runs this as root.
func ownerTrusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	own := os.Geteuid()
	if stat.Uid == 0 || int(stat.Uid) == own {
		return true
	}
	sudo, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	return err == nil && own == 0 && uint64(stat.Uid) == sudo
}

// worldWritable reports whether everybody can write a file, or add files to a directory.
func worldWritable(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }
