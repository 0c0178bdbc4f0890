package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/redact"
)

// Anonymous takes out what tells which machine the facts are of: credentials, names of hosts, the UUIDs of GPUs. What
// is judged stays the same: a GPU that a variable names by its UUID is named by its number, or as an unknown one, in
// every field alike.
func (f *Facts) Anonymous() {
	f.renameDevices()
	for _, name := range hostVariables {
		if f.Variables[name] != "" {
			f.Variables[name] = "***"
		}
	}
	redact.Value(f)
}

// hostVariables hold the name or the address of a host.
var hostVariables = []string{"NCCL_COMM_ID", "NCCL_HOSTID"}

// deviceVariables hold lists of GPUs by their numbers or UUIDs.
var deviceVariables = []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}

// renameDevices gives every GPU that is named by its UUID, or by the beginning of one, the same name wherever it is
// named.
func (f *Facts) renameDevices() {
	names := map[string]string{}
	rename := func(device string) string {
		trimmed := strings.TrimSpace(device)
		if !strings.HasPrefix(trimmed, "GPU-") && !strings.HasPrefix(trimmed, "MIG-") {
			return device
		}
		if names[trimmed] == "" {
			names[trimmed] = f.deviceName(trimmed, names)
		}
		return names[trimmed]
	}
	for _, variable := range deviceVariables {
		list, set := f.Variables[variable]
		if !set || !strings.Contains(list, "-") {
			continue
		}
		devices := strings.Split(list, ",")
		for i := range devices {
			devices[i] = rename(devices[i])
		}
		f.Variables[variable] = strings.Join(devices, ",")
	}
	for i := range f.Devices.Named {
		f.Devices.Named[i].Device = rename(f.Devices.Named[i].Device)
	}
}

// deviceName returns a name for a UUID that no other one has: "GPU-0", "MIG-0-1" for a part of GPU 0, "GPU-unknown-1".
func (f *Facts) deviceName(uuid string, names map[string]string) string {
	kind := uuid[:3]
	number := f.deviceNumber(uuid)
	taken := func(name string) bool {
		for _, other := range names {
			if other == name {
				return true
			}
		}
		return false
	}
	if number >= 0 && kind == "GPU" && !taken(fmt.Sprintf("GPU-%d", number)) {
		return fmt.Sprintf("GPU-%d", number)
	}
	stem := kind + "-unknown"
	if number >= 0 {
		stem = fmt.Sprintf("%s-%d", kind, number)
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s-%d", stem, n); !taken(name) {
			return name
		}
	}
}

// deviceNumber returns the number of the GPU that a UUID names, in the order of addresses; -1 where that is not known.
// What has been renamed keeps its number.
func (f *Facts) deviceNumber(uuid string) int {
	if number, err := strconv.Atoi(strings.TrimPrefix(uuid, "GPU-")); err == nil && number < len(f.GPUs) {
		return number
	}
	i := slices.IndexFunc(f.Devices.Named, func(d NamedDevice) bool { return d.Device == uuid })
	if i < 0 || f.Devices.Named[i].Bus == "" {
		return -1
	}
	var buses []string
	for _, g := range f.GPUs {
		buses = append(buses, g.Bus)
	}
	slices.Sort(buses)
	return slices.Index(slices.Compact(buses), f.Devices.Named[i].Bus)
}
