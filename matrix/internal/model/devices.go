package model

import (
	"slices"
)

// ControlNode is the node that every CUDA program and NVML open first.
const ControlNode = "/dev/nvidiactl"

// MemoryNode is the node of CUDA's memory management, which NVML does not open.
const MemoryNode = "/dev/nvidia-uvm"

// DriverAnswers reports whether the driver lets a program here see a GPU: stronger than any mode. A node that is
// missing or shut here does not matter then: NVML may have opened another one.
func (m *Machine) DriverAnswers() bool {
	return m.Facts.Driver.NVML.Status == "ok" && slices.ContainsFunc(m.Facts.GPUs, listedByDriver)
}

// OwnNodes reports whether /dev is the machine's own: a host's, and Apptainer's, which shares it. Only there can
// nvidia-modprobe make what is missing.
func (m *Machine) OwnNodes() bool {
	return m.Facts.System.Container == "" || m.Facts.System.Container == "apptainer"
}

// NodesElsewhere reports whether NVML opened nodes that are not in this /dev: CUDA will open those, too.
func (m *Machine) NodesElsewhere() bool {
	return m.DriverAnswers() && m.Facts.Devices.Node(ControlNode) == nil
}

// Makes reports whether a node that is missing would be made when a program first needs it: by udev or nvidia-modprobe
// on a host. Facts that do not tell who could are an older program's, which said so by nvidia-modprobe alone.
func (m *Machine) Makes() bool {
	if !m.OwnNodes() || m.TriedInVain() {
		return false
	}
	return m.Facts.Devices.Maker != "nobody"
}

// TriedInVain reports whether NVML, which makes the control node where it is missing, was refused for want of it: who
// could make it by rights did not, here.
func (m *Machine) TriedInVain() bool {
	return m.Facts.Driver.NVML.Status == "error" && m.Facts.Driver.NVML.Code == NVMLNoPermission && m.Facts.Devices.Node(ControlNode) == nil
}
