package probe

import (
	"path"
	"strings"

	"cudacompat/probe/host"
)

// readPCI lists NVIDIA's display devices from /sys/bus/pci, where they show whether or not a driver has them, and
// marks those that the loaded driver lists in /proc/driver/nvidia/gpus.
func readPCI(h *Host, _ Options) (found, error) {
	const devices = "/sys/bus/pci/devices"
	entries, err := h.ReadDir(devices)
	if err != nil {
		return nil, err
	}
	var gpus []GPU
	var failed host.Errors
	for _, e := range entries {
		gpu, err := pciGPU(h, path.Join(devices, e.Name()))
		failed.Add(err)
		if gpu != nil {
			gpus = append(gpus, *gpu)
		}
	}
	if len(gpus)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *Facts) { f.GPUs = gpus }, failed.Err()
}

// pciGPU reads one device: vendor "0x10de", class "0x030000" (VGA) or "0x030200" (3D controller), device "0x27b8".
// Everything else is nil, and so are the virtual functions of a GPU on a vGPU host: each is for a virtual machine.
func pciGPU(h *Host, dir string) (*GPU, error) {
	vendor, err := h.ReadLine(path.Join(dir, "vendor"))
	if err != nil || vendor != "0x10de" {
		return nil, err
	}
	class, err := h.ReadLine(path.Join(dir, "class"))
	if err != nil || !strings.HasPrefix(class, "0x03") || h.Exists(path.Join(dir, "physfn")) {
		return nil, err
	}
	device, err := h.ReadLine(path.Join(dir, "device"))
	if err != nil {
		return nil, err
	}
	gpu := &GPU{PCIID: "10de:" + strings.TrimPrefix(device, "0x"), Bus: path.Base(dir), From: []string{"/sys/bus/pci"}}
	if driver, err := h.Resolve(path.Join(dir, "driver")); err == nil {
		gpu.Bound = path.Base(driver)
	}
	if h.Exists("/proc/driver/nvidia/gpus/" + gpu.Bus) {
		gpu.From = append(gpu.From, "/proc/driver/nvidia")
	}
	return gpu, nil
}
