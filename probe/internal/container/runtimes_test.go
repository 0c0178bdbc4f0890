package container

import (
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestCDI reads a specification that a newer one hides, one of other devices, and one that writes no numbers.
func TestCDI(t *testing.T) {
	h := hosttest.Tree(t, `
-- etc/cdi/nvidia.yaml --
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
    - name: "0"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
              major: 195
              fileMode: 438
    - name: all
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
containerEdits:
    deviceNodes:
        - path: /dev/nvidiactl
        - path: /dev/nvidia-uvm
          major: 511
        - path: /dev/dri/card1
          major: 226
-- etc/cdi/other.yaml --
cdiVersion: "0.3.0"
kind: nvidia.com/gpu
devices: [{name: mig0}]
-- var/run/cdi/nvidia.json --
{"cdiVersion": "0.7.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits":
 {"deviceNodes": [{"path": "/dev/nvidia-caps/nvidia-cap12", "major": 236}]}}]}
-- var/run/cdi/damaged.yaml --
kind: nvidia.com/gpu
devices: {
`)
	var failed host.Errors
	got := cdiSpecs(h, &failed)
	want := []facts.CDISpec{
		{Path: "/etc/cdi/nvidia.yaml", CDI: "0.5.0", Majors: map[string]int{"nvidia": 195, "nvidia-uvm": 511}, By: "/var/run/cdi/nvidia.json"},
		{Path: "/etc/cdi/other.yaml", CDI: "0.3.0"},
		{Path: "/var/run/cdi/damaged.yaml"},
		{Path: "/var/run/cdi/nvidia.json", CDI: "0.7.0", Majors: map[string]int{"nvidia-caps": 236}},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(failed) > 0 {
		t.Errorf("%v (-want +got):\n%s", failed, diff)
	}
}

func FuzzParseCDI(f *testing.F) {
	f.Add("kind: nvidia.com/gpu\n  - hostPath: /usr/lib64/libcuda.so.535.183.01\n")
	f.Add(`{"kind":"nvidia.com/gpu","hostPath":"/usr/lib64/libcuda.so.535.183.01"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if spec := parseCDI("/etc/cdi/nvidia.yaml", text); spec != nil && !strings.Contains(text, "nvidia.com/gpu") {
			t.Errorf("another kind was taken for NVIDIA's: %+v", spec)
		}
	})
}
