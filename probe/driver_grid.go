package probe

import "cudacompat/probe/host"

// readGRID looks for the licence daemon that only the vGPU guest driver (GRID) brings.
func readGRID(h *Host, _ Options) (writeFound, error) {
	file := h.FirstThere("/usr/bin/nvidia-gridd", "/usr/sbin/nvidia-gridd")
	if file == "" {
		return nil, host.ErrAbsent
	}
	return func(f *Facts) { f.Machine.GRID = file }, nil
}
