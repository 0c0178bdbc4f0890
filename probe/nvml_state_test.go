package probe

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNVMLState asks a library that knows modes, MIG and UUIDs.
func TestNVMLState(t *testing.T) {
	state := func(brand, mode string, instances int) GPU {
		gpu := l4("")
		gpu.Brand, gpu.Mode, gpu.MIG, gpu.Instances = brand, mode, "on", instances
		return gpu
	}
	tests := []struct {
		name    string
		defines []string
		visible string
		gpu     GPU
		named   []NamedDevice
	}{
		{"two-mig", []string{"-DBRAND=2", "-DMODE=0", "-DMIG_REST=6"}, "GPU-10,GPU-9,MIG-201,MIG-9,MIG-GPU-1000/1/0", state("tesla", "default", 2), []NamedDevice{{"GPU-10", true, "0000:1e:00.0"}, {"GPU-9", false, ""},
			{"MIG-201", true, "0000:1e:00.0"}, {"MIG-GPU-1000/1/0", true, "0000:1e:00.0"}}},
		{"mig-refused", []string{"-DBRAND=15", "-DMODE=3", "-DMIG_REST=4"}, "0", state("geforcertx", "exclusive", -1), []NamedDevice{}},
		{"unheard-of", []string{"-DBRAND=99", "-DMODE=77", "-DMIG_REST=999"}, "MIG-9", state("", "", -1), []NamedDevice{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lib := fakeNVML(t, append(tt.defines, "-DSTATE", "-DCOUNT=1")...)
			h := &Host{Root: t.TempDir(), Env: map[string]string{"LD_LIBRARY_PATH": lib, "CUDA_VISIBLE_DEVICES": tt.visible}}
			got := Run(context.Background(), h, Options{Timeout: 30 * time.Second})
			tt.gpu.Bus = "0000:1e:00.0"
			if diff := cmp.Diff([]GPU{tt.gpu}, got.GPUs); diff != "" {
				t.Errorf("GPUs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.named, got.Devices.Named); diff != "" {
				t.Errorf("named devices (-want +got):\n%s", diff)
			}
		})
	}
}
