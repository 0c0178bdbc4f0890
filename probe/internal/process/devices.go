// Package process reads what this process may use: device nodes and limits, environment variables, and the job that it
// belongs to.
package process

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// nodePatterns is every place of a node that a CUDA program opens. DirectX's is WSL's whole driver.
var nodePatterns = []string{"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/*",
	"/dev/nvidia-caps-imex-channels/*", "/dev/dxg"}

// ReadDevices reads names, modes, numbers and limits; nothing under /dev is opened here.
func ReadDevices(h *host.Host) (source.Update, error) {
	var d facts.Devices
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
	if majors := parseMajors(string(h.ReadQuietly("/proc/devices"))); len(majors) > 0 {
		d.Majors = majors
	}
	d.Modprobe, d.UVM = modprobe(h), uvm(h, d.Majors)
	d.Maker, d.Hindrance = maker(h, d)
	d.Shared = sharedMemory(h)
	limits, err := h.ReadFile("/proc/self/limits")
	failed.Add(err)
	d.Memlock = parseLimit(string(limits), "Max locked memory")
	d.AddressSpace = parseLimit(string(limits), "Max address space")
	d.Comm = ownName(h)
	if mayLock(h) {
		d.Memlock = -1
	}
	d.MPS = mpsDaemon(h)
	return func(f *facts.Facts) { f.Devices = d }, failed.Err()
}

// modprobe reports whether nvidia-modprobe, which makes the nodes when a program without rights starts CUDA, can do so.
func modprobe(h *host.Host) string {
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

// parseLimit reads a soft limit in /proc/self/limits, in bytes; -1 is none:
//
//	Max locked memory         8388608              8388608              bytes
func parseLimit(limits, name string) int64 {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, name)
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

// mayLock reports whether this process has CAP_IPC_LOCK where the kernel asks for it, so that the limit does not hold.
func mayLock(h *host.Host) bool {
	return firstUsers(h) && capable(h.ReadQuietly("/proc/self/status"), capIPCLock)
}

// ownName reports whether a thread may write its own name, as CUDA's do: some sandboxes keep /proc read-only. It is
// opened for that, and nothing is written.
func ownName(h *host.Host) string {
	threads := h.Glob("/proc/self/task/*/comm")
	if len(threads) == 0 {
		return ""
	}
	resolved, err := h.Resolve(threads[0])
	if err != nil {
		return ""
	}
	f, err := os.OpenFile(h.Real(resolved), os.O_WRONLY, 0)
	switch {
	case err == nil:
		f.Close()
		return "writable"
	case host.Absent(err): // the thread has ended
		return ""
	}
	return "refused"
}

// mpsDaemon reports whether the process that MPS's control file names still runs. In a container the number is of
// another process space, so nothing is said there.
func mpsDaemon(h *host.Host) string {
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
