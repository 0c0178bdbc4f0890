package gpu

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadBus reads how the GPUs are connected, where there are several.
func ReadBus(h *host.Host) (source.Update, error) {
	gpus := displays(h)
	if len(gpus) < 2 {
		return nil, host.ErrAbsent
	}
	bus := facts.Bus{Virtual: virtual(h), IOMMU: iommu(h, gpus), ACS: acs(h, gpus)}
	return func(f *facts.Facts) { f.Machine.Bus = bus }, nil
}

// displays are the directories of NVIDIA's GPUs under /sys.
func displays(h *host.Host) []string {
	return Devices(h, "0x03")
}

// Devices are the directories under /sys of NVIDIA's devices of a class that are not for a virtual machine.
func Devices(h *host.Host, class string) []string {
	devices, _ := h.PCI()
	var dirs []string
	for _, d := range devices {
		if d.Vendor != nvidia {
			continue
		}
		of, _ := h.ReadLine(d.Dir + "/class")
		driver, _ := h.Resolve(d.Dir + "/driver")
		if strings.HasPrefix(of, class) && path.Base(driver) != "vfio-pci" {
			dirs = append(dirs, d.Dir)
		}
	}
	return dirs
}

// virtual looks for the flag that hypervisors set on x86.
func virtual(h *host.Host) string {
	flags := h.CPUFlags()
	switch {
	case len(flags) == 0:
		return ""
	case slices.Contains(flags, "hypervisor"):
		return "yes"
	}
	return "no"
}

// iommu reads the kind of the GPUs' groups: "DMA" and "DMA-FQ" translate, "identity" does not. Without an IOMMU there
// are no groups.
func iommu(h *host.Host, gpus []string) string {
	worst := "off"
	for _, dir := range gpus {
		kind, err := h.ReadLine(dir + "/iommu_group/type")
		switch {
		case strings.HasPrefix(kind, "DMA"):
			return "translated"
		case kind == "identity":
			worst = "passthrough"
		case err != nil && !host.Absent(err) || err == nil:
			return ""
		case h.Exists(dir + "/iommu_group"): // a kernel that does not tell the kind
			return ""
		}
	}
	return worst
}

var pciAddress = lazyregexp.New(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// acs reads the bridges between the GPUs and the root: in /sys each device's directory lies in that of its bridge.
func acs(h *host.Host, gpus []string) string {
	seen := map[string]bool{}
	for _, dir := range gpus {
		real, err := h.Resolve(dir)
		if err != nil {
			return ""
		}
		for bridge := path.Dir(real); pciAddress.MatchString(path.Base(bridge)); bridge = path.Dir(bridge) {
			if seen[bridge] {
				break
			}
			seen[bridge] = true
			config, err := h.ReadFile(bridge + "/config")
			if err != nil || len(config) < 4096 { // without root the first 64 bytes
				return ""
			}
			if redirects(config) {
				return "on"
			}
		}
	}
	return "off"
}

// Offsets and numbers of PCI Express's extended configuration space (linux/pci_regs.h).
const (
	extendedStart = 0x100
	capabilityACS = 0x0d
	acsControl    = 6
	acsRedirect   = 0x04 // P2P Request Redirect
)

// redirects reports whether a bridge sends what its devices write to each other up to the root: the control word of its
// Access Control Services.
func redirects(config []byte) bool {
	for at, steps := extendedStart, 0; at >= extendedStart && at+8 <= len(config) && steps < 64; steps++ {
		header := binary.LittleEndian.Uint32(config[at:])
		if header&0xffff == capabilityACS {
			return binary.LittleEndian.Uint16(config[at+acsControl:])&acsRedirect != 0
		}
		at = int(header >> 20)
	}
	return false
}
