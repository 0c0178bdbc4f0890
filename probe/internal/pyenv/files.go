package pyenv

import (
	"errors"
	"io/fs"
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// ClosedFile hinders a distribution by a file that this user may not read: it, or the first directory above it that he may
// not look into.
func ClosedFile(h *host.Host, of, file string) facts.Hindrance {
	for file = path.Clean(file); !h.Exists(file) && path.Dir(file) != file; {
		file = path.Dir(file)
	}
	closed := facts.Hindrance{Kind: facts.HindranceClosed, Of: of, Path: file}
	if isRoot(h) {
		closed.By = "root"
	}
	return closed
}

// isRoot reports whether the caller is root. Permissions refuse root nothing: a file closed to it is on a file system
// that trusts only its owner (NFS with root_squash, FUSE), or a security module refuses this program. Another user's
// program, or another program, may read it.
func isRoot(h *host.Host) bool {
	return rootStatus.Match(h.ReadQuietly("/proc/self/status"))
}

// rootStatus matches the effective user of a process, the second number of "Uid:	1000	0	0	0".
var rootStatus = lazyregexp.New(`(?m)^Uid:\s+\d+\s+0\s`)

// IsClosed reports whether there is a file that this user may not read, or a directory that he may not look into.
func IsClosed(h *host.Host, file string) bool {
	f, err := h.Open(file)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// RealPath returns a file's path without symbolic links, if known.
func RealPath(h *host.Host, file string) string {
	if real, err := h.Files().Resolve(file); err == nil {
		return real
	}
	return file
}

// Absent reports whether a file is certainly not there.
func Absent(h *host.Host, name string) bool {
	f, err := h.Open(name)
	if err == nil {
		f.Close()
	}
	return host.Absent(err)
}
