package nvml

import (
	"strings"

	"cudacompat/probe/facts"
)

// identity is a GPU, or a MIG device, by its UUID and the address of the GPU.
type identity struct{ uuid, bus string }

// matchNamed looks the UUIDs in a list such as "GPU-8932f937,1,MIG-4b0e…" up among the devices' own. The beginning of
// one is enough for CUDA where no other begins so; "MIG-GPU-8932f937…/1/0" is the older form of a part of a GPU.
func matchNamed(list string, devices []identity) []facts.NamedDevice {
	var named []facts.NamedDevice
	for device := range strings.SplitSeq(list, ",") {
		device = strings.TrimSpace(device)
		gpu := strings.HasPrefix(device, "GPU-")
		if !gpu && !strings.HasPrefix(device, "MIG-") {
			continue
		}
		buses := matching(device, devices)
		if gpu || len(buses) == 1 {
			named = append(named, facts.NamedDevice{Device: device, Found: len(buses) > 0, Bus: onlyOne(buses)})
		}
	}
	return named
}

// matching returns the addresses of the devices that a name can mean.
func matching(name string, devices []identity) []string {
	if rest, old := strings.CutPrefix(name, "MIG-GPU-"); old {
		name, _, _ = strings.Cut("GPU-"+rest, "/")
	}
	if len(name) == len("GPU-") { // no beginning: CUDA takes it for none
		return nil
	}
	var buses []string
	for _, d := range devices {
		if strings.HasPrefix(d.uuid, name) {
			buses = append(buses, d.bus)
		}
	}
	return buses
}

func onlyOne(list []string) string {
	if len(list) != 1 {
		return ""
	}
	return list[0]
}
