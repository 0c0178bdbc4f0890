// Package gpu reads NVIDIA's GPUs from the PCI bus and from the driver's /proc files, and how they are connected.
package gpu

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadPCI lists NVIDIA's display devices on the PCI bus, with or without a driver, and marks those that the loaded
// driver lists in /proc/driver/nvidia/gpus.
func ReadPCI(h *host.Host) (source.Update, error) {
	devices, err := h.PCI()
	if err != nil {
		return nil, err
	}
	var gpus []facts.GPU
	var failed host.Errors
	for _, d := range devices {
		gpu, err := pciGPU(h, d)
		failed.Add(err)
		if gpu != nil {
			gpus = append(gpus, *gpu)
		}
	}
	if len(gpus)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.GPUs = gpus }, failed.Err()
}

// nvidia is NVIDIA's vendor id on the PCI bus.
const nvidia = "0x10de"

// MayBePresent reports whether this running machine has an NVIDIA device on its PCI bus, or the bus cannot be read. If
// it has none, callers need not search all processes for NVIDIA's daemons.
func MayBePresent(h *host.Host) bool {
	if h.Rest {
		return false
	}
	devices, err := h.PCI()
	maybe := func(d host.PCIDevice) bool { return d.Vendor == nvidia || d.Err != nil }
	return err != nil || slices.ContainsFunc(devices, maybe)
}

var pciNumber = lazyregexp.New(`^0x[0-9a-f]{4}$`)

// pciGPU reads one PCI device: vendor "0x10de", class "0x030000" (VGA) or "0x030200" (3D controller), device "0x27b8".
// It returns nil for any other class, and for the virtual functions of a GPU on a vGPU host, each of which belongs to a
// virtual machine. If the driver that it is bound to cannot be read, it returns the GPU and the error.
func pciGPU(h *host.Host, d host.PCIDevice) (*facts.GPU, error) {
	if d.Err != nil || d.Vendor != nvidia {
		return nil, d.Err
	}
	dir := d.Dir
	class, err := h.ReadLine(path.Join(dir, "class"))
	if err != nil || !strings.HasPrefix(class, "0x03") || h.Exists(path.Join(dir, "physfn")) {
		return nil, err
	}
	device, err := h.ReadLine(path.Join(dir, "device"))
	if err != nil {
		return nil, err
	}
	if !pciNumber.MatchString(device) {
		return nil, host.Damaged(path.Join(dir, "device"), "no number of a device in it")
	}
	gpu := &facts.GPU{PCIID: "10de:" + strings.TrimPrefix(device, "0x"), Bus: path.Base(dir), From: []string{"/sys/bus/pci"}}
	driver, err := h.Resolve(path.Join(dir, "driver"))
	switch {
	case err == nil:
		gpu.Bound = path.Base(driver)
	case host.Absent(err):
		err = nil
	}
	if h.Exists("/proc/driver/nvidia/gpus/" + gpu.Bus) {
		gpu.From = append(gpu.From, "/proc/driver/nvidia")
	}
	return gpu, err
}
