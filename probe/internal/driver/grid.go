package driver

import (
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadGRID finds the licence daemon, which only the vGPU guest driver (GRID) installs.
func ReadGRID(h *host.Host) (source.Update, error) {
	file := h.FirstThere("/usr/bin/nvidia-gridd", "/usr/sbin/nvidia-gridd")
	if file == "" {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.GRID = file }, nil
}
