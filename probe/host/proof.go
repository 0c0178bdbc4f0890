package host

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Proof returns what shows that a live root is the kernel's own: "process 1", "modules", "kernel" or "wsl". It returns
// "" in a container, for a tree at rest, and without /proc.
func (h *Host) Proof() string { return h.surroundings().proof }

// ContainerKind names the container runtime by the marks that each leaves, "container" for a live root that nothing
// shows to be the kernel's own, or says "" for a host.
func (h *Host) ContainerKind() string { return h.surroundings().container }

// surroundings are what kind of place a root is.
type surroundings struct{ container, proof string }

// surroundings looks once in a run. Marks of an engine come before modules and kernels: a driver's container installs them
// for itself. The root of process 1 comes before marks: they stay in an image that is started as a virtual machine, and
// a pod's variables stay after chroot to its node.
func (h *Host) surroundings() surroundings {
	if h.lookups.around != nil {
		return *h.lookups.around
	}
	p := surroundings{container: h.containerMark()}
	if !h.Rest {
		p = h.livePlace(p.container)
	}
	h.lookups.around = &p
	return p
}

func (h *Host) livePlace(mark string) surroundings {
	data, err := h.ReadFile("/proc/self/mountinfo")
	mounts := ParseMounts(string(data))
	root := At(mounts, "/")
	switch {
	case firstProcess(h) && sameRoot(root, At(h.mountsOf("1"), "/")):
		return surroundings{proof: "process 1"}
	case mark != "":
		return surroundings{container: mark}
	case ownModules(h, mounts):
		return surroundings{proof: "modules"}
	case ownKernel(h, mounts):
		return surroundings{proof: "kernel"}
	case wslDistribution(h, root):
		return surroundings{proof: "wsl"}
	case err != nil: // without /proc nobody can tell
		return surroundings{}
	}
	return surroundings{container: "container"}
}

// firstProcess reports whether /proc is that of the first process namespace: nowhere else is the second process the
// kernel's own kthreadd, which has no parent.
//
//	2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 …
func firstProcess(h *Host) bool {
	const kernelThread = 0x00200000 // PF_KTHREAD of linux/sched.h
	stat, err := h.ReadLine("/proc/2/stat")
	rest, ok := strings.CutPrefix(stat, "2 (kthreadd) ")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 7 || fields[1] != "0" {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&kernelThread != 0
}

// sameRoot reports whether two processes have the same root. It compares what is mounted there and not the number of
// the mount, which differs in every mount namespace. The roots of Enroot and Apptainer are other directories or file
// systems than process 1's. A service with a private /tmp has process 1's root.
func sameRoot(a, b *Mount) bool {
	return a != nil && b != nil && a.Device == b.Device && a.Root == b.Root && a.Kind == b.Kind
}

// ownModules reports whether the root's own file system contains modules of the running kernel. A pod that mounts
// /lib/modules has the host's. Kernel headers, which a compiler image may have, bring only links.
func ownModules(h *Host, mounts []Mount) bool {
	dir, ok := running(h, "/lib/modules/")
	if !ok || !onRoot(h, mounts, dir) {
		return false
	}
	entries, err := h.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != "build" && e.Name() != "source"
	})
}

// ownKernel reports whether /boot contains the running kernel and is not a mount of its own, because a monitor's pod
// mounts the host's.
func ownKernel(h *Host, mounts []Mount) bool {
	for _, name := range []string{"/boot/vmlinuz-", "/boot/vmlinux-", "/boot/Image-", "/boot/kernel-"} {
		if file, ok := running(h, name); ok && h.Exists(file) && onRoot(h, mounts, file) {
			return true
		}
	}
	return false
}

// running returns a name that ends in the running kernel's release.
func running(h *Host, beginning string) (string, bool) {
	release, err := h.ReadLine("/proc/sys/kernel/osrelease")
	return beginning + release, err == nil && release != "" && !strings.Contains(release, "/")
}

// onRoot reports whether a file is on the file system that is mounted at the root, after following links.
func onRoot(h *Host, mounts []Mount, name string) bool {
	real, err := h.Resolve(name)
	if err != nil {
		return false
	}
	for ; real != "/"; real = path.Dir(real) {
		if At(mounts, real) != nil {
			return false
		}
	}
	return true
}

// wslDistribution reports whether the root is a distribution's under WSL2, which has a process namespace and modules
// that are mounted, and is what people take for the host. Containers there have an overlay for a root.
func wslDistribution(h *Host, root *Mount) bool {
	release, _ := h.ReadLine("/proc/sys/kernel/osrelease")
	return strings.Contains(strings.ToLower(release), "microsoft") && (root == nil || root.Kind != "overlay")
}

// Mount is a line of mountinfo(5).
type Mount struct {
	ID     string // "812"
	Device string // "259:1": of the file system
	Root   string // the directory of it that is mounted, "/"
	Point  string // where
	Kind   string // "ext4", "overlay", "devtmpfs"
	Line   string
}

func (h *Host) mountsOf(pid string) []Mount {
	return ParseMounts(string(h.ReadQuietly("/proc/" + pid + "/mountinfo")))
}

// Mounts returns what is mounted where this process sees it.
func (h *Host) Mounts() []Mount { return h.mountsOf("self") }

// ParseMounts reads mountinfo(5); lines that are cut short are left out.
//
// 812 790 259:1 /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01 /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01
// ro,nosuid,nodev - ext4 /dev/root rw
func ParseMounts(mountinfo string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(kind) > 0 {
			mounts = append(mounts, Mount{fields[0], fields[2], fields[3], fields[4], kind[0], line})
		}
	}
	return mounts
}

// At returns the last mount at a point, which covers earlier ones, or nil.
func At(mounts []Mount, point string) *Mount {
	for i, m := range slices.Backward(mounts) {
		if m.Point == point {
			return &mounts[i]
		}
	}
	return nil
}
