//go:build linux && cgo

package nvml

import (
	"cudacompat/probe/facts"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// peersOf returns how the GPUs reach each other's memory: "pcie" if a pair does so over PCI Express, "nvlink" if all
// pairs that can have NVLink, "none", or "" if NVML does not say.
func peersOf(devices []handle, s *session) string {
	if len(devices) < 2 || !s.has("nvmlDeviceGetP2PStatus") {
		return ""
	}
	peers := "none"
	for i, one := range devices {
		for _, other := range devices[i+1:] {
			s := s.about(one.index)
			status, ret := one.GetP2PStatus(other.Device, nvml.P2P_CAPS_INDEX_READ)
			if !s.succeeded("nvmlDeviceGetP2PStatus", ret) {
				return ""
			}
			if status != nvml.P2P_STATUS_OK {
				continue
			}
			if link, ret := one.GetP2PStatus(other.Device, nvml.P2P_CAPS_INDEX_NVLINK); !s.succeeded("nvmlDeviceGetP2PStatus", ret) ||
				link != nvml.P2P_STATUS_OK {
				return "pcie"
			}
			peers = "nvlink"
		}
	}
	return peers
}

// memory asks what is taken of each GPU's memory, and by whom.
func (a *Answer) memory(devices []handle, s *session) {
	for i, device := range devices {
		s := s.about(device.index)
		a.GPUs[i].Memory = memoryOf(device, s, a.GPUs[i].MIG == "on")
		a.Holders = append(a.Holders, holdersOf(device, s, i)...)
	}
}

// memoryOf asks how much of a GPU's memory is used. A GPU in MIG mode answers only for its MIG devices, which are not
// asked. Some NVML releases count the driver's own memory as used; the free memory means the same in all.
func memoryOf(device nvml.Device, s *session, cut bool) *facts.Memory {
	if cut || !s.has("nvmlDeviceGetMemoryInfo_v2") {
		return nil
	}
	info, ret := device.GetMemoryInfo_v2()
	if !s.succeeded("nvmlDeviceGetMemoryInfo_v2", ret) || info.Free+info.Reserved > info.Total {
		return nil
	}
	return &facts.Memory{Total: info.Total, Used: info.Total - info.Free - info.Reserved, Here: -1}
}

// holdersOf lists the processes that compute on a GPU, as far as NVML names them.
func holdersOf(device nvml.Device, s *session, gpu int) (holders []holder) {
	if !s.has("nvmlDeviceGetComputeRunningProcesses_v3") {
		return nil
	}
	defer func() {
		if recover() != nil { // go-nvml believes a library that counts more processes than it had room for
			holders = nil
		}
	}()
	processes, ret := device.GetComputeRunningProcesses()
	if !s.succeeded("nvmlDeviceGetComputeRunningProcesses_v3", ret) {
		return nil
	}
	for _, p := range processes {
		if p.UsedGpuMemory < 1<<62 { // what is not available is all ones
			holders = append(holders, holder{gpu, int(p.Pid), p.UsedGpuMemory})
		}
	}
	return holders
}
