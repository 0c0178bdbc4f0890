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

// nodeMaker returns who can create a missing device node when a program first needs it, or "nobody" and the reason.
// NVIDIA's libraries create it themselves as root, and otherwise start nvidia-modprobe; both also load nvidia-uvm. In a
// container nobody can, because its device control group refuses nodes that it was not given.
func nodeMaker(h *host.Host, d facts.Devices) (who, hindrance string) {
	if h.ContainerKind() != "" || h.Proof() == "wsl" {
		return "", ""
	}
	status := h.ReadQuietly("/proc/self/status")
	switch {
	case len(status) == 0:
		return "", ""
	case statusField(status, "Uid") == "0" && hasCapability(status, capMknod):
		who = "root"
	case d.Modprobe == "setuid":
		who = "nvidia-modprobe"
	default:
		return "nobody", ""
	}
	switch {
	case who != "root" && statusField(status, "NoNewPrivs") == "1":
		return "nobody", "no new privileges"
	case !inFirstUserNamespace(h):
		return "nobody", "a user namespace"
	case hasMountOption(h, "/dev", "ro"):
		return "nobody", "/dev is read-only"
	case hasMountOption(h, "/dev", "nodev"): // as bubblewrap's --dev: what root makes there nobody can open
		return "nobody", "/dev is mounted nodev"
	case d.UVM == "absent":
		return "nobody", "nvidia-uvm is neither loaded nor on disk"
	case d.UVM == "on disk" && modulesDisabled(h):
		return "nobody", "modules are disabled"
	}
	return who, ""
}

// uvmState reports whether the kernel module nvidia-uvm is loaded, on disk or absent. CUDA does not work without it.
// Only modules of the running kernel count; if that has none here, the answer is "".
func uvmState(h *host.Host, majors map[string]int) string {
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

// modulesDisabled reports whether the kernel refuses to load modules until it is rebooted: "1".
func modulesDisabled(h *host.Host) bool {
	disabled, err := h.ReadLine("/proc/sys/kernel/modules_disabled")
	return err == nil && disabled == "1"
}

// hasMountOption reports whether the mount of a directory has an option.
func hasMountOption(h *host.Host, dir, option string) bool {
	mount := host.At(h.Mounts(), dir)
	return mount != nil && slices.Contains(mount.Options(), option)
}

// Bits of capabilities (linux/capability.h).
const (
	capIPCLock = 14
	capMknod   = 27
)

// hasCapability reports whether a process has a capability, by its status:
//
//	CapEff:	000001ffffffffff
func hasCapability(status []byte, bit int) bool {
	mask, err := strconv.ParseUint(statusField(status, "CapEff"), 16, 64)
	return err == nil && mask>>bit&1 == 1
}

// statusField returns the first word of a line of /proc/self/status, "0" for
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

// inFirstUserNamespace reports whether this is the first user namespace, which maps the whole range of ids:
//
//	0          0 4294967295
func inFirstUserNamespace(h *host.Host) bool {
	users, _ := h.ReadFile("/proc/self/uid_map")
	return slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"})
}
