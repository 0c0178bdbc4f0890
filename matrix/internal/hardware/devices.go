package hardware

import "slices"

// ControlNode is the node that NVML and every CUDA program open first.
const ControlNode = "/dev/nvidiactl"

// MemoryNode is the node of CUDA's memory management. NVML does not open it.
const MemoryNode = "/dev/nvidia-uvm"

// DriverAnswers reports whether the driver shows a program here a GPU, which proves more than any file mode. A node
// that is missing or closed here then does not matter, because NVML may have opened another one.
func (m *Machine) DriverAnswers() bool {
	return m.Facts.Driver.NVML.Status == "ok" && slices.ContainsFunc(m.Facts.GPUs, listedByDriver)
}

// OwnNodes reports whether /dev belongs to the machine itself: on a host, and in Apptainer, which shares the host's.
// Only there can nvidia-modprobe make missing nodes.
func (m *Machine) OwnNodes() bool {
	return m.Facts.System.Container == "" || m.Facts.System.Container == "apptainer"
}

// NodesElsewhere reports whether NVML opened nodes that are not in this /dev. CUDA will open those, too.
func (m *Machine) NodesElsewhere() bool {
	return m.DriverAnswers() && m.Facts.Devices.Node(ControlNode) == nil
}

// Makes reports whether a missing node would be made when a program first needs it: by udev or nvidia-modprobe on a
// host. Facts of an older program only record nvidia-modprobe.
func (m *Machine) Makes() bool {
	if !m.OwnNodes() || m.TriedInVain() {
		return false
	}
	return m.Facts.Devices.Maker != "nobody"
}

// TriedInVain reports whether NVML, which makes a missing control node, failed because the node is missing. Nothing
// here then makes it.
func (m *Machine) TriedInVain() bool {
	return m.Facts.Driver.NVML.Status == "error" && m.Facts.Driver.NVML.Code == NVMLNoPermission && m.Facts.Devices.Node(ControlNode) == nil
}
