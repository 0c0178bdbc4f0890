package probe

// readGRID looks for the licence daemon that only the vGPU guest driver (GRID) brings.
func readGRID(h *Host, _ Options) (found, error) {
	file := firstThere(h, "/usr/bin/nvidia-gridd", "/usr/sbin/nvidia-gridd")
	if file == "" {
		return nil, errAbsent
	}
	return func(f *Facts) { f.Machine.GRID = file }, nil
}
