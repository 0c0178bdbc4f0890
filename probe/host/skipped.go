package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Skipped is a place that could not be seen, or a directory that was read only in part, and why. Whatever is asked of the
// host has one of three results: there, not there (ENOENT and ENOTDIR), or not seen, which is recorded here.
type Skipped struct {
	Place  string
	Reason string // "permission denied", "input/output error"
	Closed bool   // this user may not look: EACCES, EPERM
	Cut    bool   // a cap ended the list
}

// DrainSkipped returns the places that could not be seen since the last call, each once, and forgets them.
func (h *Host) DrainSkipped() []Skipped {
	skipped := h.skipped
	h.skipped, h.skippedAt = nil, nil
	return skipped
}

// Unseen reports whether a look at a place, or at something in it, failed since the last DrainSkipped.
func (h *Host) Unseen(place string) bool {
	for _, s := range h.skipped {
		if s.Place == place || strings.HasPrefix(s.Place, strings.TrimSuffix(place, "/")+"/") {
			return true
		}
	}
	return false
}

// skip records that a place could not be read, unless the error says that it does not exist or is of another type.
func (h *Host) skip(place string, err error) {
	var code syscall.Errno
	if err == nil || Absent(err) || !errors.As(err, &code) || code == syscall.ELOOP || code == syscall.EINVAL ||
		code == syscall.ENAMETOOLONG {
		return
	}
	switch known := h.skippedAt[place]; {
	case known || len(h.skippedAt) > maxSkipped:
		return
	case h.skippedAt == nil:
		h.skippedAt = map[string]bool{}
	}
	h.skippedAt[place] = true
	if len(h.skippedAt) > maxSkipped {
		h.skipped = append(h.skipped, Skipped{Place: "more places", Reason: "could not be read; they are not listed"})
		return
	}
	reason := code.Error()
	if stall := new(stallError); errors.As(err, &stall) {
		reason = stall.Error()
	}
	h.skipped = append(h.skipped, Skipped{Place: place, Reason: reason, Closed: errors.Is(err, fs.ErrPermission)})
}

// maxSkipped bounds how many places are named of one source.
const maxSkipped = 200

// Topmost returns the places that are not inside another place of the list, because a closed directory stands for
// everything in it.
func Topmost(skipped []Skipped) []Skipped {
	at := map[string]bool{}
	for _, s := range skipped {
		at[s.Place] = true
	}
	return slices.DeleteFunc(slices.Clone(skipped), func(s Skipped) bool {
		for dir := path.Dir(s.Place); len(dir) > 1; dir = path.Dir(dir) {
			if at[dir] {
				return true
			}
		}
		return false
	})
}

// IsPrivate reports whether a place belongs to one user or process, so that it is closed to others on every machine: a
// home, root's, or a directory of /proc.
func IsPrivate(place string) bool {
	for _, prefix := range []string{"/root", "/home"} {
		if place == prefix || strings.HasPrefix(place, prefix+"/") {
			return true
		}
	}
	pid, _, _ := strings.Cut(strings.TrimPrefix(place, "/proc/"), "/")
	return strings.HasPrefix(place, "/proc/") && (pid == "self" || strings.Trim(pid, "0123456789") == "")
}
