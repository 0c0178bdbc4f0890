package pyenv

import (
	"errors"
	"io/fs"
	"path"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// ClosedFile hinders a distribution by a file that this user may not read: it, or the first directory above it that he may
// not look into.
func ClosedFile(h *host.Host, of, file string) facts.Hindrance {
	for file = path.Clean(file); !h.Exists(file) && path.Dir(file) != file; {
		file = path.Dir(file)
	}
	return facts.Hindrance{Kind: facts.HindranceClosed, Of: of, Path: file}
}

// IsClosed reports whether there is a file that this user may not read, or a directory that he may not look into.
func IsClosed(h *host.Host, file string) bool {
	f, err := h.Open(file)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// RealPath is a file's path without symbolic links, where it can be told.
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
