package host

// Running says "yes" or "no" for a process of that name, or "" when other users' processes are hidden (hidepid).
// The kernel keeps 15 bytes of a name.
func (h *Host) Running(name string) string {
	if _, err := h.ReadLine("/proc/1/comm"); err != nil {
		return ""
	}
	if h.lookups.processes == nil {
		h.lookups.processes = h.processNames()
	}
	if h.lookups.processes[name[:min(len(name), 15)]] {
		return "yes"
	}
	return "no"
}

func (h *Host) processNames() map[string]bool {
	names := map[string]bool{}
	for _, file := range h.Glob("/proc/[0-9]*/comm") {
		if name, err := h.ReadLine(file); err == nil {
			names[name] = true
		}
	}
	return names
}
