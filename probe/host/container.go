package host

import (
	"bytes"
	"cmp"
	"strings"
)

// rootMarks are directories of the engines in the options of a root file system that is an overlay.
var rootMarks = []struct{ mark, kind string }{
	{"io.containerd.snapshotter", "containerd"}, {"/docker/", "docker"}, {"/containers/storage/", "podman"},
	{"/crio/", "cri-o"}, {"/buildkit/", "buildkit"},
}

// containerByRoot returns the engine whose overlay is the root, or "container" where something is mounted over
// /proc/driver/nvidia, as NVIDIA's hook does; "" otherwise. It asks the mounts, because a control group namespace hides
// the engine's name:
//
// 612 431 0:87 / / rw,relatime - overlay overlay
// rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/12/fs
func containerByRoot(h *Host) string {
	if h.Rest {
		return ""
	}
	mounts, err := h.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[4] != "/" && fields[4] != "/proc/driver/nvidia" {
			continue
		}
		if fields[4] != "/" {
			return "container"
		}
		for _, c := range rootMarks {
			if strings.Contains(line, " - overlay ") && strings.Contains(line, c.mark) {
				return c.kind
			}
		}
	}
	return ""
}

// containerMark names the container runtime by the marks that it leaves, or returns "".
func (h *Host) containerMark() string {
	switch {
	case h.Var("KUBERNETES_SERVICE_HOST") != "" || h.Exists("/var/run/secrets/kubernetes.io/serviceaccount"):
		return "kubernetes"
	case h.Exists("/.dockerenv"):
		return "docker"
	case h.Exists("/run/.containerenv"):
		return "podman"
	case h.Exists("/.singularity.d"):
		return "apptainer"
	case h.Var("container") != "":
		return h.Var("container")
	}
	return cmp.Or(containerByCgroup(h), containerBySystemd(h), containerByRoot(h))
}

// containerBySystemd returns the container that systemd detected at its start: "lxc", "systemd-nspawn". WSL does not
// count.
func containerBySystemd(h *Host) string {
	kind, err := h.ReadLine("/run/systemd/container")
	if err != nil || h.Rest || kind == "wsl" {
		return ""
	}
	return kind
}

// containerByCgroup reads the first process's control groups, where Docker and containerd write their names:
//
//	12:devices:/docker/3f0c…    0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-9c….scope
func containerByCgroup(h *Host) string {
	data, err := h.ReadFile("/proc/1/cgroup")
	if err != nil {
		return ""
	}
	for _, c := range cgroupMarks {
		if bytes.Contains(data, []byte("/"+c.mark)) {
			return c.kind
		}
	}
	return ""
}

var cgroupMarks = []struct{ mark, kind string }{
	{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"}, {"containerd", "containerd"},
	{"lxc", "lxc"},
}
