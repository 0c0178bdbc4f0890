package process

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/driver"
)

// maker is who could make a node that is missing when a program first needs it, and why nobody can: NVIDIA's libraries
// do it themselves as root, and start nvidia-modprobe else. Either loads nvidia-uvm where it is not loaded. In a
// container nobody does: what was not given to it, its control group refuses.
func maker(h *host.Host, d facts.Devices) (who, hindrance string) {
	if h.ContainerKind() != "" || h.Proof() == "wsl" {
		return "", ""
	}
	status := h.ReadQuietly("/proc/self/status")
	switch {
	case len(status) == 0:
		return "", ""
	case statusField(status, "Uid") == "0" && capable(status, capMknod):
		who = "root"
	case d.Modprobe == "setuid":
		who = "nvidia-modprobe"
	default:
		return "nobody", ""
	}
	switch {
	case who != "root" && statusField(status, "NoNewPrivs") == "1":
		return "nobody", "no new privileges"
	case !firstUsers(h):
		return "nobody", "a user namespace"
	case mountedWith(h, "/dev", "ro"):
		return "nobody", "/dev is read-only"
	case mountedWith(h, "/dev", "nodev"): // as bubblewrap's --dev: what root makes there nobody can open
		return "nobody", "/dev is mounted nodev"
	case d.UVM == "absent":
		return "nobody", "nvidia-uvm is neither loaded nor on disk"
	case d.UVM == "on disk" && modulesDisabled(h):
		return "nobody", "modules are disabled"
	}
	return who, ""
}

// uvm tells of the kernel module nvidia-uvm, without which there is no unified memory, and no CUDA. Of modules on disk
// only those of the running kernel count; where it has none here at all, nobody can say.
func uvm(h *host.Host, majors map[string]int) string {
	if _, ok := majors["nvidia-uvm"]; ok || h.Exists("/sys/module/nvidia_uvm") {
		return "loaded"
	}
	kernel, err := h.ReadLine("/proc/sys/kernel/osrelease")
	dir := path.Join("/lib/modules", kernel)
	if err != nil || kernel == "" || !h.Exists(dir) {
		return ""
	}
	index := string(h.ReadQuietly(dir + "/modules.dep"))
	for _, name := range []string{"nvidia-uvm.ko", "nvidia-current-uvm.ko"} {
		if strings.Contains(index, "/"+name) {
			return "on disk"
		}
		for _, sub := range driver.ModuleDirs {
			if len(h.Glob(path.Join(dir, sub, name+"*"))) > 0 {
				return "on disk"
			}
		}
	}
	return "absent"
}

// modulesDisabled reports whether the kernel takes no module until it is booted again: "1".
func modulesDisabled(h *host.Host) bool {
	disabled, err := h.ReadLine("/proc/sys/kernel/modules_disabled")
	return err == nil && disabled == "1"
}

// mountedWith reports whether the mount that a directory is on has an option.
func mountedWith(h *host.Host, dir, option string) bool {
	mount := host.At(h.Mounts(), dir)
	return mount != nil && slices.Contains(mount.Options(), option)
}

// Bits of capabilities (linux/capability.h).
const (
	capIPCLock = 14
	capMknod   = 27
)

// capable reports whether a process has a capability, by its status:
//
//	CapEff:	000001ffffffffff
func capable(status []byte, bit int) bool {
	mask, err := strconv.ParseUint(statusField(status, "CapEff"), 16, 64)
	return err == nil && mask>>bit&1 == 1
}

// statusField is the first word of a line of /proc/self/status, "0" of
//
//	Uid:	0	0	0	0
func statusField(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(value), "\t")
			return first
		}
	}
	return ""
}

// firstUsers reports whether this is the first user namespace, whose map is the whole range of numbers:
//
//	0          0 4294967295
func firstUsers(h *host.Host) bool {
	users, _ := h.ReadFile("/proc/self/uid_map")
	return slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"})
}
