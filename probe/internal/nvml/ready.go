//go:build linux && cgo

package nvml

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// confidentialOf says whether the GPUs accept work under confidential computing. Until somebody sets their ready state,
// after attestation, every program gets error 802.
func confidentialOf(s *session) string {
	if !s.has("nvmlSystemGetConfComputeState") || !s.has("nvmlSystemGetConfComputeGpusReadyState") {
		return ""
	}
	state, ret := s.lib.SystemGetConfComputeState()
	if !s.succeeded("nvmlSystemGetConfComputeState", ret) || state.CcFeature != nvml.CC_SYSTEM_FEATURE_ENABLED {
		return ""
	}
	switch ready, ret := s.lib.SystemGetConfComputeGpusReadyState(); {
	case !s.succeeded("nvmlSystemGetConfComputeGpusReadyState", ret):
		return ""
	case ready == nvml.CC_ACCEPTING_CLIENT_REQUESTS_TRUE:
		return "ready"
	}
	return "not ready"
}

// recoveries are nvmlDeviceGpuRecoveryAction_t (nvml.h).
var recoveries = map[nvml.DeviceGpuRecoveryAction]string{
	nvml.GPU_RECOVERY_ACTION_NONE:            "none",
	nvml.GPU_RECOVERY_ACTION_GPU_RESET:       "reset",
	nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:     "reboot",
	nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:       "drain",
	nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET: "drain and reset",

	nvml.GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: "recover the IMEX domain",
}

// recoveryOf asks which recovery a GPU needs. It is a field and not a function: releases before 570 refuse the field,
// not the call.
func recoveryOf(device nvml.Device, s *session) string {
	if !s.has("nvmlDeviceGetFieldValues") {
		return ""
	}
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if !s.succeeded("nvmlDeviceGetFieldValues", device.GetFieldValues(values)) || nvml.ValueType(values[0].ValueType) == nvml.VALUE_TYPE_DOUBLE {
		return ""
	}
	code := nvml.Return(values[0].NvmlReturn)
	if code == nvml.ERROR_INVALID_ARGUMENT || !s.succeeded("nvmlDeviceGetFieldValues", code) { // a release that has no such field
		return ""
	}
	return recoveries[nvml.DeviceGpuRecoveryAction(binary.LittleEndian.Uint32(values[0].Value[:]))]
}

// licenceOf says whether a vGPU in a virtual machine has the licence that its driver requires. A GPU that is passed
// through needs none, whatever its driver could license.
func licenceOf(device nvml.Device, s *session) string {
	if !s.has("nvmlDeviceGetVirtualizationMode") || !s.has("nvmlDeviceGetGridLicensableFeatures_v4") {
		return ""
	}
	if mode, ret := device.GetVirtualizationMode(); !s.succeeded("nvmlDeviceGetVirtualizationMode", ret) || mode != nvml.GPU_VIRTUALIZATION_MODE_VGPU {
		return ""
	}
	features, ret := device.GetGridLicensableFeatures()
	if !s.succeeded("nvmlDeviceGetGridLicensableFeatures_v4", ret) || features.IsGridLicenseSupported == 0 {
		return ""
	}
	licence := ""
	for _, f := range features.GridLicensableFeatures[:min(features.LicensableFeaturesCount, 3)] {
		switch {
		case f.FeatureEnabled == 0:
		case f.FeatureState != 0:
			return "licensed"
		default:
			licence = "unlicensed"
		}
	}
	return licence
}

// minorOf returns the number of a GPU's node.
func minorOf(device nvml.Device, s *session) *int {
	if !s.has("nvmlDeviceGetMinorNumber") {
		return nil
	}
	minor, ret := device.GetMinorNumber()
	if !s.succeeded("nvmlDeviceGetMinorNumber", ret) || minor < 0 || minor >= maxGPUs {
		return nil
	}
	return &minor
}
