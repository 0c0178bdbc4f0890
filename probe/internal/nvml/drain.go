//go:build linux && cgo

package nvml

import (
	"fmt"
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// drainedGPUs returns the addresses of the driver's GPUs that NVML does not list because an administrator drained them
// (nvidia-smi drain). listed are those that it lists.
func drainedGPUs(s *session, h *host.Host, listed []facts.GPU) []string {
	if !s.has("nvmlDeviceQueryDrainState") {
		return nil
	}
	entries, err := h.ReadDir("/proc/driver/nvidia/gpus")
	if err != nil {
		return nil
	}
	var drained []string
	for _, e := range entries {
		pci, ok := addressOf(e.Name())
		if !ok || slices.ContainsFunc(listed, func(g facts.GPU) bool { return g.Bus == e.Name() }) {
			continue
		}
		if state, ret := s.lib.DeviceQueryDrainState(&pci); s.succeeded("nvmlDeviceQueryDrainState", ret) && state == nvml.FEATURE_ENABLED {
			drained = append(drained, e.Name())
		}
	}
	return drained
}

// addressOf returns the address "0000:00:1e.0" in the form of NVML, "00000000:00:1E.0".
func addressOf(bus string) (pci nvml.PciInfo, ok bool) {
	if n, err := fmt.Sscanf(bus, "%x:%x:%x.0", &pci.Domain, &pci.Bus, &pci.Device); err != nil || n != 3 {
		return pci, false
	}
	write := func(to []int8, text string) {
		for i := range min(len(text), len(to)-1) {
			to[i] = int8(text[i])
		}
	}
	write(pci.BusId[:], fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device))
	write(pci.BusIdLegacy[:], fmt.Sprintf("%04X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device))
	return pci, true
}
