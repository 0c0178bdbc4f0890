package host

import (
	"slices"
	"strings"
)

// FirstNoExec returns the mount point of the first of dirs that is on a file system mounted noexec, from which the
// kernel maps no code, so that no library there loads (mount(8)). A tree at rest will be mounted elsewhere, so it
// returns "".
func FirstNoExec(h *Host, dirs []string) string {
	if h.Rest {
		return ""
	}
	mounts := h.Mounts()
	for _, dir := range dirs {
		real, err := h.Resolve(dir)
		if err != nil {
			continue
		}
		if m := Holding(mounts, real); m != nil && slices.Contains(m.Options(), "noexec") {
			return m.Point
		}
	}
	return ""
}

// Holding returns the mount that contains a file, after resolving links: the deepest one, and of equals the last. It
// returns nil if mountinfo could not be read.
func Holding(mounts []Mount, file string) *Mount {
	var deepest *Mount
	for i, m := range mounts {
		on := m.Point == "/" || file == m.Point || strings.HasPrefix(file, m.Point+"/")
		if on && (deepest == nil || len(m.Point) >= len(deepest.Point)) {
			deepest = &mounts[i]
		}
	}
	return deepest
}

// Options returns those of the mount itself, "ro", "noexec": the sixth column of mountinfo.
func (m *Mount) Options() []string {
	fields := strings.Fields(m.Line)
	if len(fields) < 6 {
		return nil
	}
	return strings.Split(fields[5], ",")
}
