package probe

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestNVMLState asks a library that knows modes, MIG and UUIDs.
func TestNVMLState(t *testing.T) {
	state := func(brand, mode string, instances int) facts.GPU {
		gpu := l4("")
		gpu.Brand, gpu.Mode, gpu.MIG, gpu.Instances = brand, mode, "on", instances
		return gpu
	}
	tests := []struct {
		name    string
		defines []string
		visible string
		gpu     facts.GPU
		named   []facts.NamedDevice
	}{
		{"two-mig", []string{"-DBRAND=2", "-DMODE=0", "-DMIG_REST=6"}, "GPU-10,GPU-9,MIG-201,MIG-9,MIG-GPU-1000/1/0",
			state("tesla", "default", 2), []facts.NamedDevice{{Device: "GPU-0", Found: true, Bus: "0000:1e:00.0"},
				{Device: "GPU-unknown-1", Found: false, Bus: ""},
				{Device: "MIG-0-1", Found: true, Bus: "0000:1e:00.0"},
				{Device: "MIG-0-2", Found: true, Bus: "0000:1e:00.0"}}},
		{"mig-refused", []string{"-DBRAND=15", "-DMODE=3", "-DMIG_REST=4"}, "0", state("geforcertx", "exclusive", -1),
			[]facts.NamedDevice{}},
		{"unheard-of", []string{"-DBRAND=99", "-DMODE=77", "-DMIG_REST=999"}, "MIG-9", state("", "", -1),
			[]facts.NamedDevice{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lib := fakeNVML(t, append(tt.defines, "-DSTATE", "-DCOUNT=1")...)
			h := &Host{Root: t.TempDir(), Env: map[string]string{"LD_LIBRARY_PATH": lib,
				"CUDA_VISIBLE_DEVICES": tt.visible}}
			got := Run(context.Background(), h, Options{Timeout: 30 * time.Second})
			tt.gpu.Bus = "0000:1e:00.0"
			if diff := cmp.Diff([]facts.GPU{tt.gpu}, got.GPUs); diff != "" {
				t.Errorf("GPUs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.named, got.Devices.Named); diff != "" {
				t.Errorf("named devices (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNVMLReady checks what else may keep programs off a GPU: a pending recovery, confidential computing, a licence. A
// value that a release or a user does not get stays empty.
func TestNVMLReady(t *testing.T) {
	for name, tt := range map[string]struct {
		field, recovery, confidential, ready, mode, licensed string
		want, state, licence                                 string
	}{
		"sound":       {"0", "0", "0", "0", "0", "0", "none", "", ""},
		"reset":       {"0", "1", "1", "1", "1", "0", "reset", "ready", ""},
		"reboot":      {"0", "2", "1", "0", "2", "0", "reboot", "not ready", "unlicensed"},
		"drain":       {"0", "3", "0", "1", "2", "1", "drain", "", "licensed"},
		"drain-reset": {"0", "4", "0", "0", "3", "0", "drain and reset", "", ""},
		"imex":        {"0", "5", "0", "0", "0", "0", "recover the IMEX domain", "", ""},
		"unheard-of":  {"0", "77", "0", "0", "0", "0", "", "", ""},
		"old":         {"3", "1", "0", "0", "0", "0", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lib := fakeNVML(t, "-DCOUNT=1", "-DFIELD="+tt.field, "-DRECOVERY="+tt.recovery, "-DCONFIDENTIAL="+tt.confidential,
				"-DREADY="+tt.ready, "-DMODE="+tt.mode, "-DLICENSED="+tt.licensed)
			h := &Host{Root: t.TempDir(), Env: map[string]string{"LD_LIBRARY_PATH": lib}}
			got := Run(context.Background(), h, Options{Timeout: 30 * time.Second})
			gpu := l4("0000:1e:00.0")
			seven := 7
			gpu.Minor, gpu.Licence = &seven, tt.licence
			if tt.want != "" {
				gpu.Health = &facts.Health{Recovery: tt.want, Slowdown: []string{}}
			}
			if diff := cmp.Diff([]facts.GPU{gpu}, got.GPUs); diff != "" {
				t.Errorf("GPUs (-want +got):\n%s", diff)
			}
			if got.Driver.Confidential != tt.state {
				t.Errorf("confidential computing is %q, want %q", got.Driver.Confidential, tt.state)
			}
		})
	}
}

// TestNVMLShare checks how GPUs reach each other, and how much of their memory is used, for NVML releases that count
// the driver's own memory as used and for those that do not.
func TestNVMLShare(t *testing.T) {
	for _, tt := range []struct {
		name    string
		defines []string
		peers   string
	}{
		{"pcie", []string{"-DSHARE=0", "-DPEER=0", "-DLINK=5", "-DUSED=3500"}, "pcie"},
		{"nvlink", []string{"-DSHARE=0", "-DPEER=0", "-DLINK=0", "-DUSED=4000"}, "nvlink"},
		{"none", []string{"-DSHARE=0", "-DPEER=1", "-DLINK=5", "-DUSED=3500"}, "none"},
		{"refused", []string{"-DSHARE=3", "-DPEER=0", "-DLINK=0", "-DUSED=3500"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lib := fakeNVML(t, tt.defines...)
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, "proc/self/cgroup"), "0::/slurm/job_1/step_0\n")
			hosttest.Write(t, filepath.Join(root, "proc/4711/cgroup"), "0::/slurm/job_1/step_0\n")
			h := &Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": lib}}
			got := Run(context.Background(), h, Options{Timeout: 30 * time.Second})
			if got.Devices.Peers != tt.peers || got.Devices.Counted != 2 {
				t.Errorf("peers %q of %d, want %q of 2", got.Devices.Peers, got.Devices.Counted, tt.peers)
			}
			for _, gpu := range got.GPUs {
				if diff := cmp.Diff(&facts.Memory{Total: 24000, Used: 3500, Here: 3000}, gpu.Memory); diff != "" {
					t.Errorf("memory (-want +got):\n%s", diff)
				}
			}
		})
	}
}
