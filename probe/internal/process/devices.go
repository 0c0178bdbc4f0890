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

// nodePatterns lists every device node that a CUDA program opens. /dev/dxg is the whole driver on WSL.
var nodePatterns = []string{"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/*",
	"/dev/nvidia-caps-imex-channels/*", "/dev/dxg"}

// ReadDevices reads names, modes, numbers and limits. It opens nothing under /dev.
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
	var err error
	d.Majors, err = readMajors(h, d.Nodes)
	failed.Add(err)
	d.Modprobe, d.UVM = modprobeState(h), uvmState(h, d.Majors)
	d.Maker, d.Hindrance = nodeMaker(h, d)
	d.Shared = sharedMemory(h)
	limits, err := h.ReadFile("/proc/self/limits")
	failed.Add(err)
	d.Memlock = parseLimit(string(limits), "Max locked memory")
	d.AddressSpace = parseLimit(string(limits), "Max address space")
	d.Comm = commAccess(h)
	if canLock(h) {
		d.Memlock = -1
	}
	d.MPS = mpsState(h)
	return func(f *facts.Facts) { f.Devices = d }, failed.Err()
}

// modprobeState reports whether nvidia-modprobe, which creates the device nodes when an unprivileged program starts
// CUDA, is setuid and can do so.
func modprobeState(h *host.Host) string {
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

// parseLimit parses a soft limit of /proc/self/limits in bytes; -1 means unlimited:
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

// canLock reports whether this process has CAP_IPC_LOCK in the first user namespace, so that the limit on locked memory
// does not apply.
func canLock(h *host.Host) bool {
	return inFirstUserNamespace(h) && hasCapability(h.ReadQuietly("/proc/self/status"), capIPCLock)
}

// commAccess reports whether a thread may write its own name, as CUDA's threads do. Some sandboxes mount /proc
// read-only. It opens the file and writes nothing.
func commAccess(h *host.Host) string {
	threads := h.Glob("/proc/self/task/*/comm")
	if len(threads) == 0 {
		return ""
	}
	resolved, err := h.Resolve(threads[0])
	if err != nil {
		return ""
	}
	f, err := os.OpenFile(h.Real(resolved), os.O_WRONLY|host.NonBlock, 0) // a pipe here has no reader
	switch {
	case err == nil:
		f.Close()
		return "writable"
	case host.Absent(err): // the thread has ended
		return ""
	}
	return "refused"
}

// mpsState reports whether the process in MPS's pid file still runs. It says nothing in a container, where the number
// belongs to another PID namespace.
func mpsState(h *host.Host) string {
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
