package driver

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/gpu"
	"cudacompat/probe/internal/source"
)

// ReadFabric reads what NVSwitch systems need: the switches on the bus, NVIDIA's fabric manager, and for the fourth
// generation (HGX B200, B300) the NVLink subnet manager and ib_umad.
func ReadFabric(h *host.Host) (source.Update, error) {
	f := facts.Fabric{Manager: h.FirstThere("/usr/bin/nv-fabricmanager", "/usr/libexec/nvidia/tesla/bin/nv-fabricmanager"),
		NVLSM: h.FirstThere("/opt/nvidia/nvlsm/sbin/nvlsm", "/opt/nvidia/nvlsm", "/usr/sbin/nvlsm"),
		UMAD:  umadState(h), Switches: countSwitches(h)}
	if f.Manager != "" || gpu.MayBePresent(h) {
		if f.Running = h.Running("nv-fabricmanager"); f.Running == "yes" {
			f.Started = startOf(h, "nv-fabricmanage") // the kernel keeps 15 bytes of a name
		}
	}
	if f.Manager != "" && h.Rest {
		f.AtBoot = startAtBoot(h, "nvidia-fabricmanager.service")
	}
	if f == (facts.Fabric{}) {
		return nil, host.ErrAbsent
	}
	return func(facts *facts.Facts) { // the packages have told the version
		f.Version, f.From = facts.Machine.Fabric.Version, facts.Machine.Fabric.From
		facts.Machine.Fabric = f
	}, nil
}

// umadState returns whether the InfiniBand user module is loaded, will be loaded at boot, or is only on disk.
func umadState(h *host.Host) string {
	if h.Exists("/sys/module/ib_umad") {
		return "loaded"
	}
	for _, dir := range []string{"/etc/modules-load.d", "/usr/lib/modules-load.d", "/lib/modules-load.d"} {
		for _, file := range h.Glob(dir + "/*.conf") {
			if slices.Contains(strings.Fields(string(h.ReadQuietly(file))), "ib_umad") {
				return "at boot"
			}
		}
	}
	if umadOnDisk(h) {
		return "on disk"
	}
	return ""
}

// umadOnDisk looks in each kernel's list of modules, which includes vendors' packages, and for the file itself.
func umadOnDisk(h *host.Host) bool {
	for _, list := range []string{"modules.dep", "modules.builtin"} {
		for _, file := range h.Glob("/lib/modules/*/" + list) {
			if bytes.Contains(h.ReadQuietly(file), []byte("/ib_umad.ko")) {
				return true
			}
		}
	}
	return len(h.Glob("/lib/modules/*/kernel/drivers/infiniband/core/ib_umad.ko*")) > 0
}

// countSwitches counts NVIDIA's PCI devices of class 0x0680 ("bridge, other"), the NVSwitches of A100, H100 and H200
// boards. It leaves out those given to a virtual machine (vfio-pci), which manages them itself.
func countSwitches(h *host.Host) int {
	return len(gpu.Devices(h, "0x0680"))
}

// ticksPerSecond is USER_HZ, the unit of times in /proc on every architecture that CUDA supports.
const ticksPerSecond = 100

// startOf returns how many seconds after boot the last process of a name was started, 0 if that is not told. It is the
// 22nd field of /proc/PID/stat, the 20th after the name:
//
//	1234 (nv-fabricmanage) S 1 1234 1234 0 -1 4194560 2031 0 12 0 45 30 0 0 20 0 19 0 4211 1873 …
func startOf(h *host.Host, name string) float64 {
	last := 0.0
	for _, file := range h.Glob("/proc/[0-9]*/comm") {
		if of, err := h.ReadLine(file); err != nil || of != name {
			continue
		}
		stat, _ := h.ReadLine(path.Dir(file) + "/stat")
		_, rest, _ := strings.Cut(stat, ") ")
		if fields := strings.Fields(rest); len(fields) > 19 {
			ticks, _ := strconv.ParseFloat(fields[19], 64)
			last = max(last, ticks/ticksPerSecond)
		}
	}
	return last
}
