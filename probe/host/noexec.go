package host

import (
	"slices"
	"strings"
)

// FirstNoExec returns the mount point that the first of the directories with one stands on, where it is mounted noexec:
// the kernel maps no code from there, so that no library of it loads (mount(8)). A tree at rest is mounted elsewhere
// later.
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

// Holding returns the mount on which a file stands, its links resolved: the deepest, of equals the last. Nil where
// mountinfo could not be read.
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
