package host

import (
	"io"
	"strings"
)

// cpuHead is how many bytes of /proc/cpuinfo cover the first processor. The whole file takes the kernel long on large
// machines.
const cpuHead = 8 << 10

// CPUFlags returns the features of the first processor as the kernel names them on x86, "sse4_2" and "hypervisor". None
// are known on other architectures, and of a tree whose /proc is not that of a running system.
func (h *Host) CPUFlags() []string {
	f, err := h.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, cpuHead))
	return cpuFlags(string(head))
}

// cpuFlags finds a line such as "flags		: fpu … hypervisor lahf_lm".
func cpuFlags(cpuinfo string) []string {
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "flags" {
			return strings.Fields(value)
		}
	}
	return nil
}
