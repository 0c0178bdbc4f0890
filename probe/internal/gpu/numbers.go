package gpu

import (
	"path"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadNumbers reads what the loaded driver shows about each GPU in /proc: the number of its device node, whether it is
// excluded, and the capability nodes of its MIG devices.
func ReadNumbers(h *host.Host) (source.Update, error) {
	files := h.Glob("/proc/driver/nvidia/gpus/*/information")
	if len(files) == 0 {
		return nil, host.ErrAbsent
	}
	var failed host.Errors
	numbers := map[string]gpuNumbers{}
	for _, name := range files {
		data, err := h.ReadFile(name)
		failed.Add(err)
		if err != nil {
			continue
		}
		n := parseInformation(string(data))
		if n.minor != nil {
			n.caps = capNodes(h, *n.minor)
		}
		numbers[path.Base(path.Dir(name))] = n
	}
	return func(f *facts.Facts) {
		for i := range f.GPUs {
			if n, ok := numbers[f.GPUs[i].Bus]; ok {
				f.GPUs[i].Minor, f.GPUs[i].Excluded, f.GPUs[i].CapNodes = n.minor, n.excluded, n.caps
			}
		}
	}, failed.Err()
}

// gpuNumbers are what the driver's files say of one GPU.
type gpuNumbers struct {
	minor    *int     // N of /dev/nvidiaN; nil if the driver does not say
	excluded bool     // the driver was told to leave this GPU alone
	caps     []string // device nodes of its MIG instances
}

// parseInformation parses the driver's file about a GPU:
//
//	Model: 		 NVIDIA L4
//	Device Minor: 	 0
//	GPU Excluded:	 No
func parseInformation(text string) gpuNumbers {
	var n gpuNumbers
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Device Minor":
			if minor, err := strconv.Atoi(value); err == nil && minor >= 0 {
				n.minor = &minor
			}
		case "GPU Excluded", "GPU Blacklisted": // before 455
			n.excluded = value == "Yes"
		}
	}
	return n
}

// capNodes lists the capability nodes that a program opens for a GPU's MIG devices: for each compute instance its own,
// and that of its GPU instance.
//
//	/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access
func capNodes(h *host.Host, minor int) []string {
	var nodes []string
	for _, compute := range h.Glob("/proc/driver/nvidia/capabilities/gpu" + strconv.Itoa(minor) + "/mig/gi*/ci*/access") {
		instance := path.Join(path.Dir(path.Dir(compute)), "access")
		for _, name := range []string{instance, compute} {
			if n, ok := parseCapability(string(h.ReadQuietly(name))); ok {
				nodes = append(nodes, "/dev/nvidia-caps/nvidia-cap"+strconv.Itoa(n))
			}
		}
	}
	return nodes
}

// parseCapability parses the number of a capability's node:
//
//	DeviceFileMinor: 12
//	DeviceFileMode: 292
//	DeviceFileModify: 1
func parseCapability(text string) (int, bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "DeviceFileMinor:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
