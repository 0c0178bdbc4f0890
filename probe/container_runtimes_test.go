package probe

import (
	"strings"
	"testing"
)

func FuzzParseCDI(f *testing.F) {
	f.Add("kind: nvidia.com/gpu\n  - hostPath: /usr/lib64/libcuda.so.535.183.01\n")
	f.Add(`{"kind":"nvidia.com/gpu","hostPath":"/usr/lib64/libcuda.so.535.183.01"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if spec := parseCDI("/etc/cdi/nvidia.yaml", text); spec != nil && !strings.Contains(text, "nvidia.com/gpu") {
			t.Errorf("another kind was taken for NVIDIA's: %+v", spec)
		}
	})
}
