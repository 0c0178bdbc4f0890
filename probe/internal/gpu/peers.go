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

// ReadPeers reads how several GPUs are connected to each other.
func ReadPeers(h *host.Host) (source.Update, error) {
	gpus := gpuDirs(h)
	if len(gpus) < 2 {
		return nil, host.ErrAbsent
	}
	bus := facts.Bus{Virtual: isVirtual(h), IOMMU: iommuMode(h, gpus), ACS: acsState(h, gpus)}
	return func(f *facts.Facts) { f.Machine.Bus = bus }, nil
}

// gpuDirs returns the directories of NVIDIA's GPUs under /sys.
func gpuDirs(h *host.Host) []string {
	return Devices(h, "0x03")
}

// Devices returns the directories under /sys of NVIDIA's devices of a class, without those given to a virtual machine.
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

// isVirtual looks for the CPU flag that hypervisors set on x86.
func isVirtual(h *host.Host) string {
	flags := h.CPUFlags()
	switch {
	case len(flags) == 0:
		return ""
	case slices.Contains(flags, "hypervisor"):
		return "yes"
	}
	return "no"
}

// iommuMode returns "translated" if the IOMMU translates a GPU's addresses, "passthrough" if it does not, "off" without
// an IOMMU, and "" if unknown. It reads the type of each GPU's IOMMU group: "DMA" and "DMA-FQ" translate, "identity"
// does not.
func iommuMode(h *host.Host, gpus []string) string {
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

// acsState returns "on" if a PCI bridge above a GPU sends its writes to other GPUs up to the root complex (Access
// Control Services), otherwise "off". It returns "" if the bridges cannot be read, which takes root. In /sys, a
// device's directory is inside that of its bridge.
func acsState(h *host.Host, gpus []string) string {
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

// redirects reports whether a bridge's Access Control Services redirect peer-to-peer writes up to the root.
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
