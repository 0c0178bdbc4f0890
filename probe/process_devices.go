package probe

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/probe/host"
)

// nodePatterns is every place of a node that a CUDA program opens. DirectX's is WSL's whole driver.
var nodePatterns = []string{"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/*",
	"/dev/nvidia-caps-imex-channels/*", "/dev/dxg"}

// readDevices reads names, modes and limits; nothing under /dev is opened.
func readDevices(h *Host, _ Options) (found, error) {
	var d Devices
	var failed host.Errors
	for _, pattern := range nodePatterns {
		for _, name := range h.Glob(pattern) {
			node, err := readNode(h, name)
			failed.Add(err)
			if err == nil {
				d.Nodes = append(d.Nodes, node)
			}
		}
	}
	d.Modprobe = modprobe(h)
	d.Shared = sharedMemory(h)
	limits, err := h.ReadFile("/proc/self/limits")
	failed.Add(err)
	d.Memlock = parseMemlock(string(limits))
	if mayLock(h) {
		d.Memlock = -1
	}
	d.MPS = mpsDaemon(h)
	return func(f *Facts) { f.Devices = d }, failed.Err()
}

// modprobe reports whether nvidia-modprobe, which makes the nodes when a program without rights starts CUDA, can do so.
func modprobe(h *Host) string {
	for _, name := range []string{"/usr/bin/nvidia-modprobe", "/usr/local/bin/nvidia-modprobe",
		"/run/current-system/sw/bin/nvidia-modprobe"} {
		resolved, err := h.Resolve(name)
		if err != nil {
			continue
		}
		if info, err := os.Lstat(h.Real(resolved)); err == nil && info.Mode()&fs.ModeSetuid != 0 {
			return "setuid"
		}
		return "not setuid"
	}
	return "absent"
}

// parseMemlock reads the soft limit in /proc/self/limits, in bytes:
//
//	Max locked memory         8388608              8388608              bytes
func parseMemlock(limits string) int64 {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 {
			continue
		}
		if fields[0] == "unlimited" {
			return -1
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// capIPCLock is the bit of CAP_IPC_LOCK (linux/capability.h), with which the limit does not hold.
const capIPCLock = 1 << 14

// mayLock reports whether this process has CAP_IPC_LOCK where the kernel asks for it: in the first user namespace,
// whose map is the whole range of numbers.
//
//	CapEff:	000001ffffffffff          0          0 4294967295
func mayLock(h *Host) bool {
	status, _ := h.ReadFile("/proc/self/status")
	users, _ := h.ReadFile("/proc/self/uid_map")
	if !slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"}) {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if bits, ok := strings.CutPrefix(line, "CapEff:"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(bits), 16, 64)
			return err == nil && mask&capIPCLock != 0
		}
	}
	return false
}

// mpsDaemon reports whether the process that MPS's control file names still runs. In a container the number is of
// another process space, so nothing is said there.
func mpsDaemon(h *Host) string {
	dir := h.Var("CUDA_MPS_PIPE_DIRECTORY")
	if !path.IsAbs(dir) {
		dir = "/tmp/nvidia-mps"
	}
	pid, err := h.ReadLine(path.Join(dir, "nvidia-cuda-mps-control.pid"))
	if err != nil || h.ContainerKind() != "" || strings.Trim(pid, "0123456789") != "" || pid == "" {
		return ""
	}
	if h.Exists("/proc/" + pid) {
		return "running"
	}
	return "dead"
}
