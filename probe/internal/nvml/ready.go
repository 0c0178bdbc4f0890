//go:build linux && cgo

package nvml

import (
	"encoding/binary"

	"cudacompat/probe/facts"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// confidentialOf tells whether the GPUs take work where confidential computing is on: until somebody sets their ready
// state, after attestation, every program gets error 802.
func confidentialOf(lib nvml.Interface, has func(string) bool) string {
	if !has("nvmlSystemGetConfComputeState") || !has("nvmlSystemGetConfComputeGpusReadyState") {
		return ""
	}
	state, ret := lib.SystemGetConfComputeState()
	if ret != nvml.SUCCESS || state.CcFeature != nvml.CC_SYSTEM_FEATURE_ENABLED {
		return ""
	}
	switch ready, ret := lib.SystemGetConfComputeGpusReadyState(); {
	case ret != nvml.SUCCESS:
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

// recoveryOf asks what a GPU needs. It is a field and no function of its own: releases before 570 refuse the field, not
// the call.
func recoveryOf(device nvml.Device, has func(string) bool) string {
	if !has("nvmlDeviceGetFieldValues") {
		return ""
	}
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if device.GetFieldValues(values) != nvml.SUCCESS || nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS ||
		nvml.ValueType(values[0].ValueType) == nvml.VALUE_TYPE_DOUBLE {
		return ""
	}
	return recoveries[nvml.DeviceGpuRecoveryAction(binary.LittleEndian.Uint32(values[0].Value[:]))]
}

// licenceOf tells of a vGPU in a virtual machine whether it has the licence that its driver asks for; a GPU that is
// passed through needs none, whatever its driver could license.
func licenceOf(device nvml.Device, has func(string) bool) string {
	if !has("nvmlDeviceGetVirtualizationMode") || !has("nvmlDeviceGetGridLicensableFeatures_v4") {
		return ""
	}
	if mode, ret := device.GetVirtualizationMode(); ret != nvml.SUCCESS || mode != nvml.GPU_VIRTUALIZATION_MODE_VGPU {
		return ""
	}
	features, ret := device.GetGridLicensableFeatures()
	if ret != nvml.SUCCESS || features.IsGridLicenseSupported == 0 {
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

// minorOf is the number of a GPU's node.
func minorOf(device nvml.Device, has func(string) bool) *int {
	if !has("nvmlDeviceGetMinorNumber") {
		return nil
	}
	minor, ret := device.GetMinorNumber()
	if ret != nvml.SUCCESS || minor < 0 || minor >= maxGPUs {
		return nil
	}
	return &minor
}

// noteFailed notes a GPU of which there is no handle; one that this process has no right to is none of its own.
func (a *Answer) noteFailed(index int, ret nvml.Return) {
	if ret == nvml.ERROR_NO_PERMISSION {
		return
	}
	a.NVML.Failed = append(a.NVML.Failed, facts.FailedGPU{Index: index, Code: int(ret)})
}
