//go:build linux && cgo

package nvml

import (
	"strings"

	"cudacompat/probe/facts"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// brandNames are NVML's brands as the constraints of container images write them (nvml.h, nvmlBrandType_t).
var brandNames = map[nvml.BrandType]string{
	nvml.BRAND_UNKNOWN:             "unknown",
	nvml.BRAND_QUADRO:              "quadro",
	nvml.BRAND_TESLA:               "tesla",
	nvml.BRAND_NVS:                 "nvs",
	nvml.BRAND_GRID:                "grid",
	nvml.BRAND_GEFORCE:             "geforce",
	nvml.BRAND_TITAN:               "titan",
	nvml.BRAND_NVIDIA_VAPPS:        "vapps",
	nvml.BRAND_NVIDIA_VPC:          "vpc",
	nvml.BRAND_NVIDIA_VCS:          "vcs",
	nvml.BRAND_NVIDIA_VWS:          "vws",
	nvml.BRAND_NVIDIA_CLOUD_GAMING: "cloudgaming",
	nvml.BRAND_QUADRO_RTX:          "quadrortx",
	nvml.BRAND_NVIDIA_RTX:          "nvidiartx",
	nvml.BRAND_NVIDIA:              "nvidia",
	nvml.BRAND_GEFORCE_RTX:         "geforcertx",
	nvml.BRAND_TITAN_RTX:           "titanrtx",
}

var modeNames = map[nvml.ComputeMode]string{
	nvml.COMPUTEMODE_DEFAULT:           "default",
	nvml.COMPUTEMODE_EXCLUSIVE_THREAD:  "exclusive",
	nvml.COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive",
	nvml.COMPUTEMODE_PROHIBITED:        "prohibited",
}

// readState asks what may keep programs off a GPU: its brand for containers, its compute mode, MIG.
func readState(device nvml.Device, s *session, gpu *facts.GPU) {
	if s.has("nvmlDeviceGetBrand") {
		if brand, ret := device.GetBrand(); s.succeeded("nvmlDeviceGetBrand", ret) {
			gpu.Brand = brandNames[brand]
		}
	}
	if s.has("nvmlDeviceGetComputeMode") {
		if mode, ret := device.GetComputeMode(); s.succeeded("nvmlDeviceGetComputeMode", ret) {
			gpu.Mode = modeNames[mode]
		}
	}
	if !s.has("nvmlDeviceGetMigMode") {
		return
	}
	mode, _, ret := device.GetMigMode()
	switch {
	case !s.succeeded("nvmlDeviceGetMigMode", ret):
	case mode == nvml.DEVICE_MIG_ENABLE:
		gpu.MIG, gpu.Instances = "on", countMIG(device, s)
	default:
		gpu.MIG = "off"
	}
}

// maxMIG is seven on every GPU so far; a library that says more is broken.
const maxMIG = 64

// countMIG counts the MIG devices of a GPU, -1 when one could not be asked for: a process may be refused its parent.
func countMIG(device nvml.Device, s *session) int {
	if !s.has("nvmlDeviceGetMaxMigDeviceCount") || !s.has("nvmlDeviceGetMigDeviceHandleByIndex") {
		return -1
	}
	most, ret := device.GetMaxMigDeviceCount()
	if !s.succeeded("nvmlDeviceGetMaxMigDeviceCount", ret) {
		return -1
	}
	count := 0
	for i := range min(most, maxMIG) {
		switch _, ret := device.GetMigDeviceHandleByIndex(i); {
		case ret == nvml.ERROR_NOT_FOUND:
		case !s.succeeded("nvmlDeviceGetMigDeviceHandleByIndex", ret):
			return -1
		default:
			count++
		}
	}
	return count
}

// namedDevices looks up the GPUs and MIG devices that CUDA_VISIBLE_DEVICES names by UUID; UUIDs go no further.
func namedDevices(gpus []handle, s *session, list string) []facts.NamedDevice {
	if !strings.Contains(list, "GPU-") && !strings.Contains(list, "MIG-") || !s.has("nvmlDeviceGetUUID") {
		return nil
	}
	var devices []identity
	for _, device := range gpus {
		uuid, ret := device.GetUUID()
		if s := s.about(device.index); !s.succeeded("nvmlDeviceGetUUID", ret) {
			return nil
		}
		bus, _ := pciOf(device, s)
		devices = append(devices, identity{uuid, bus})
		for _, part := range partsOf(device, s) {
			devices = append(devices, identity{part, bus})
		}
	}
	return matchNamed(list, devices)
}

// partsOf returns the UUIDs of a GPU's MIG devices, as far as NVML shows them.
func partsOf(device nvml.Device, s *session) []string {
	if !s.has("nvmlDeviceGetMaxMigDeviceCount") || !s.has("nvmlDeviceGetMigDeviceHandleByIndex") {
		return nil
	}
	most, ret := device.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	var parts []string
	for i := range min(most, maxMIG) {
		part, ret := device.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		if uuid, ret := part.GetUUID(); ret == nvml.SUCCESS {
			parts = append(parts, uuid)
		}
	}
	return parts
}
