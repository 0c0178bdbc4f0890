//go:build unix

package process

import (
	"errors"
	"io/fs"
	"syscall"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"

	"golang.org/x/sys/unix"
)

const (
	readWrite = 6 // R_OK|W_OK of access(2): what CUDA asks of every node
	noDevices = 4 // ST_NODEV of statfs(2)
)

// readNode asks the kernel whether open would succeed. access(2) checks the file's mode and the device control group as
// open does, and does not touch the driver. Only a nodev mount must be checked separately.
func readNode(h *host.Host, name string) (facts.Node, error) {
	resolved, err := h.Resolve(name)
	if err != nil {
		return facts.Node{}, err
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(h.Real(resolved), &st); err != nil {
		return facts.Node{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	n := facts.Node{Path: name, Mode: fileMode(uint32(st.Mode)).String(), Access: checkAccess(h.Real(resolved), uint32(st.Mode))}
	if st.Mode&syscall.S_IFMT == syscall.S_IFCHR {
		n.Major = int(unix.Major(uint64(st.Rdev)))
	}
	return n, nil
}

// checkAccess returns "ok" or the error with which open would fail.
func checkAccess(real string, mode uint32) string {
	var mount syscall.Statfs_t
	err := syscall.Access(real, readWrite)
	if err == nil && mode&syscall.S_IFMT == syscall.S_IFCHR && syscall.Statfs(real, &mount) == nil &&
		mount.Flags&noDevices != 0 {
		err = syscall.EACCES
	}
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, syscall.EPERM):
		return "EPERM"
	case errors.Is(err, syscall.EACCES):
		return "EACCES"
	}
	return err.Error()
}

// fileMode converts the kernel's mode into Go's, as far as device nodes need it.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	if mode&syscall.S_IFMT == syscall.S_IFCHR {
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	if mode&syscall.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	return m
}

// sharedMemory returns the size in bytes of the file system at /dev/shm.
func sharedMemory(h *host.Host) int64 {
	resolved, err := h.Resolve("/dev/shm")
	var st syscall.Statfs_t
	if err != nil || syscall.Statfs(h.Real(resolved), &st) != nil {
		return 0
	}
	return int64(st.Blocks) * int64(st.Bsize)
}

// inode returns a file's inode number, and 0 if the file is not there.
func inode(h *host.Host, name string) uint64 {
	resolved, err := h.Resolve(name)
	var st syscall.Stat_t
	if err != nil || syscall.Lstat(h.Real(resolved), &st) != nil {
		return 0
	}
	return uint64(st.Ino)
}
