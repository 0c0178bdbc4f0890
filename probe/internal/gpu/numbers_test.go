package gpu

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestGPUNumbers reads a machine with a GPU that is cut, and one that is left out.
func TestGPUNumbers(t *testing.T) {
	h := hosttest.Tree(t, `
-- @env --
-- proc/driver/nvidia/gpus/0000:1e:00.0/information --
Model: 		 NVIDIA H100 80GB HBM3
IRQ:   		 120
GPU UUID: 	 GPU-????????-????-????-????-????????????
Device Minor: 	 1
GPU Firmware: 	 580.95.05
GPU Excluded:	 No
-- proc/driver/nvidia/gpus/0000:1f:00.0/information --
Model: 		 NVIDIA L4
Device Minor: 	 0
GPU Excluded:	 Yes
-- proc/driver/nvidia/capabilities/gpu1/mig/gi1/access --
DeviceFileMinor: 138
DeviceFileMode: 292
DeviceFileModify: 1
-- proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0/access --
DeviceFileMinor: 139
-- proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci1/access --
DeviceFileMinor: 140
-- proc/driver/nvidia/capabilities/gpu1/mig/gi2/access --
DeviceFileMinor: 147
-- proc/driver/nvidia/capabilities/mig/config --
DeviceFileMinor: 1
`)
	apply, err := ReadNumbers(h)
	hosttest.Must(t, err)
	f := facts.Facts{GPUs: []facts.GPU{{Bus: "0000:1e:00.0"}, {Bus: "0000:1f:00.0"}, {Bus: "0000:20:00.0"}}}
	apply(&f)
	zero, one := 0, 1
	const caps = "/dev/nvidia-caps/nvidia-cap"
	want := []facts.GPU{
		{Bus: "0000:1e:00.0", Minor: &one, CapNodes: []string{caps + "138", caps + "139", caps + "138", caps + "140"}},
		{Bus: "0000:1f:00.0", Minor: &zero, Excluded: true},
		{Bus: "0000:20:00.0"},
	}
	if diff := cmp.Diff(want, f.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
}

func FuzzParseInformation(f *testing.F) {
	f.Add("Device Minor: \t 0\nGPU Excluded:\t No\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseInformation(text); n.minor != nil && *n.minor < 0 {
			t.Errorf("minor %d", *n.minor)
		}
	})
}

func FuzzParseCapability(f *testing.F) {
	f.Add("DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := parseCapability(text); ok && n < 0 {
			t.Errorf("number %d", n)
		}
	})
}
