package matrix

import (
	"context"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestDevices wants each GPU under its own label, and the reason why programs are not shown it.
func TestDevices(t *testing.T) {
	pci, nvml := []string{"/sys/bus/pci"}, []string{"NVML", "/sys/bus/pci"}
	f := facts.Facts{
		System: facts.System{Arch: "x86_64"}, Driver: facts.Driver{Version: "580.95.05", From: "NVML",
			NVML: facts.NVML{Status: "ok"}},
		Variables: map[string]string{"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
		GPUs: []facts.GPU{
			{PCIID: "10de:128b", Bus: "0000:01:00.0", Bound: "nouveau", From: pci},
			{PCIID: "10de:27b8", Bus: "0000:02:00.0", Bound: "nvgrace_gpu_vfio_pci", From: pci},
			{Name: "NVIDIA L4", Capability: "8.9", Bus: "0000:03:00.0", Bound: "nvidia", From: nvml},
			{Name: "Tesla T4", Capability: "7.5", Bus: "0000:04:00.0", Bound: "nvidia", From: nvml},
		},
	}
	want := []verdict.JudgedGPU{
		{Address: "0000:01:00.0", Label: "GK208 GPU 10de:128b (3.5)", From: "/sys/bus/pci", Hidden: "driven by nouveau"},
		{Address: "0000:02:00.0", Label: "L4 (8.9)", From: "/sys/bus/pci", Hidden: "held by nvgrace_gpu_vfio_pci"},
		{Address: "0000:03:00.0", Label: "NVIDIA L4 (8.9)", From: "NVML", Hidden: "hidden by CUDA_VISIBLE_DEVICES"},
		{Address: "0000:04:00.0", Label: "Tesla T4 (7.5)", From: "NVML", Hidden: ""},
	}
	if diff := cmp.Diff(want, Check(context.Background(), Embedded(), f, nil, verdict.Policy{}).Judged[0].Devices); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}
