//go:build linux && cgo

package nvml

import (
	"strconv"
	"strings"

	"cudacompat/probe/facts"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// healthOf asks how a GPU fares. Each function is newer than some NVML that is still met, so each is looked up first. What
// a GPU does not answer stays empty.
func healthOf(device nvml.Device, s *session) *facts.Health {
	var h facts.Health
	answered := false
	if s.has("nvmlDeviceGetRemappedRows") {
		if _, _, pending, failure, ret := device.GetRemappedRows(); s.succeeded("nvmlDeviceGetRemappedRows", ret) {
			answered, h.RemapPending, h.RemapFailure = true, pending, failure
		}
	}
	if s.has("nvmlDeviceGetTotalEccErrors") {
		if n, ret := device.GetTotalEccErrors(
			nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); s.succeeded("nvmlDeviceGetTotalEccErrors", ret) {
			answered, h.Uncorrectable = true, n
		}
	}
	if s.has("nvmlDeviceGetCurrentClocksThrottleReasons") {
		if reasons, ret := device.GetCurrentClocksThrottleReasons(); s.succeeded("nvmlDeviceGetCurrentClocksThrottleReasons", ret) {
			answered, h.Slowdown = true, slowdownNames(reasons)
		}
	}
	if s.has("nvmlDeviceGetGpuFabricInfo") {
		if info, ret := device.GetGpuFabricInfo(); s.succeeded("nvmlDeviceGetGpuFabricInfo", ret) {
			answered, h.Fabric = true, fabricStates[info.State]
			if info.State == nvml.GPU_FABRIC_STATE_COMPLETED {
				h.FabricStatus = statusWords(nvml.Return(info.Status), s.has)
			}
		}
	}
	if h.Fabric == "completed" && s.has("nvmlDeviceGetGpuFabricInfoV") {
		if info, ret := device.GetGpuFabricInfoV().V2(); s.succeeded("nvmlDeviceGetGpuFabricInfoV", ret) {
			h.FabricFaults = fabricFaults(info.HealthMask)
		}
	}
	if s.has("nvmlDeviceGetPersistenceMode") {
		if mode, ret := device.GetPersistenceMode(); s.succeeded("nvmlDeviceGetPersistenceMode", ret) {
			answered, h.Persistence = true,
				map[nvml.EnableState]string{nvml.FEATURE_ENABLED: "on", nvml.FEATURE_DISABLED: "off"}[mode]
		}
	}
	if recovery := recoveryOf(device, s); recovery != "" {
		answered, h.Recovery = true, recovery
	}
	if !answered {
		return nil
	}
	return &h
}

// fabricStates are nvmlGpuFabricState_t (nvml.h).
var fabricStates = map[uint8]string{
	nvml.GPU_FABRIC_STATE_NOT_SUPPORTED: "not supported",
	nvml.GPU_FABRIC_STATE_NOT_STARTED:   "not started",
	nvml.GPU_FABRIC_STATE_IN_PROGRESS:   "in progress",
	nvml.GPU_FABRIC_STATE_COMPLETED:     "completed",
}

// fabricFaults reads the health mask of a GPU's fabric. Each field has two bits and means a fault if it is 1. The
// configuration has four bits, of which 1 means none and higher values are faults.
func fabricFaults(mask uint32) []string {
	var faults []string
	for _, f := range []struct {
		shift uint32
		name  string
	}{{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW, "bandwidth degraded"},
		{nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY, "route unhealthy"}} {
		if mask>>f.shift&3 == 1 {
			faults = append(faults, f.name)
		}
	}
	if mask>>nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION&15 > nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE {
		faults = append(faults, "incorrect configuration")
	}
	return faults
}

// slowdowns are the bits of nvmlClocksEventReasons (nvml.h) that say why a GPU does not run at full clocks.
var slowdowns = []struct {
	bit  uint64
	name string
}{
	{nvml.ClocksThrottleReasonHwSlowdown, "hardware"},
	{nvml.ClocksThrottleReasonHwThermalSlowdown, "hardware thermal"},
	{nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
	{nvml.ClocksEventReasonSwThermalSlowdown, "software thermal"},
	{nvml.ClocksEventReasonSwPowerCap, "power cap"},
	{nvml.ClocksEventReasonGpuIdle, "idle"},
}

func slowdownNames(reasons uint64) []string {
	var names []string
	for _, s := range slowdowns {
		if reasons&s.bit != 0 {
			names = append(names, s.name)
		}
	}
	return names
}

// statusWords returns a status in the words of nvidia-smi, "success" or "insufficient resources", or its number, "code
// 9", if the driver's library has no words.
func statusWords(status nvml.Return, has func(symbol string) bool) string {
	switch {
	case status == nvml.SUCCESS:
		return "success"
	case has("nvmlErrorString"):
		return strings.ToLower(nvml.ErrorString(status))
	}
	return "code " + strconv.Itoa(int(status))
}
