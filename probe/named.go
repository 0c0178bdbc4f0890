package probe

import (
	"slices"
	"strings"
)

// matchNamed looks the UUIDs in a list such as "GPU-8932f937,1,MIG-4b0e…" up among the GPUs' own.
func matchNamed(list string, uuids []string) []NamedDevice {
	var named []NamedDevice
	for device := range strings.SplitSeq(list, ",") {
		device = strings.TrimSpace(device)
		if strings.HasPrefix(device, "GPU-") {
			there := slices.ContainsFunc(uuids, func(uuid string) bool { return strings.HasPrefix(uuid, device) })
			named = append(named, NamedDevice{Device: device, Found: there})
		}
	}
	return named
}
