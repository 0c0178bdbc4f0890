package probe

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestPluginNames(t *testing.T) {
	for _, tt := range []struct {
		value string
		set   bool
		want  []string
	}{
		{"", false, []string{"libnccl-net.so"}},
		{"ofi", true, []string{"ofi", "libnccl-net-ofi.so"}},
		{"libnccl-net-ofi.so", true, []string{"libnccl-net-ofi.so"}},
		{"/opt/a/net.so,spcx", true, []string{"/opt/a/net.so", "spcx", "libnccl-net-spcx.so"}},
		{"None", true, nil},
		{"", true, nil},
	} {
		if diff := cmp.Diff(tt.want, pluginNames(tt.value, tt.set)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.value, diff)
		}
	}
}

// TestPlugin finds it where the loader looks, beside Conda's NCCL, and nowhere.
func TestPlugin(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"usr/lib64/libnccl-net.so", "opt/conda/lib/libnccl-net-ofi.so",
		"opt/aws-ofi-nccl/lib/libnccl-net.so"} {
		hosttest.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		hosttest.Must(t, os.WriteFile(filepath.Join(root, name), hosttest.EmptyLibrary(t), 0o644))
	}
	for _, tt := range []struct {
		env  map[string]string
		want EFA
	}{
		{nil, EFA{Names: []string{"libnccl-net.so"}, Plugin: "/usr/lib64/libnccl-net.so"}},
		{map[string]string{"NCCL_NET_PLUGIN": "ofi", "CONDA_PREFIX": "/opt/conda"},
			EFA{Names: []string{"ofi", "libnccl-net-ofi.so"}, Plugin: "/opt/conda/lib/libnccl-net-ofi.so"}},
		{map[string]string{"NCCL_NET_PLUGIN": "none"}, EFA{Elsewhere: "/opt/aws-ofi-nccl/lib/libnccl-net.so"}},
	} {
		h := &Host{Root: root, Rest: true, Env: tt.env}
		apply, err := readEFA(h, Options{})
		hosttest.Must(t, err)
		var f Facts
		apply(&f)
		if diff := cmp.Diff(tt.want, f.Machine.EFA); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.env, diff)
		}
	}
}

func TestNodesOf(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want int
	}{
		{map[string]string{"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8", "SLURM_JOB_NUM_NODES": "4"}, 2},
		{map[string]string{"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8", "SLURM_JOB_NUM_NODES": "4"}, 1},
		{map[string]string{"WORLD_SIZE": "4"}, 0}, // Kubeflow counts pods so
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "9", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, 2},
		{map[string]string{"PET_NNODES": "1:4"}, 1},
		{map[string]string{"SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_NUM_NODES": "4"}, 1},
		{map[string]string{"SLURM_JOB_NUM_NODES": "many"}, 0},
		{nil, 0},
	} {
		if got := nodesOf(&Host{Env: tt.env}); got != tt.want {
			t.Errorf("%v: %d nodes, want %d", tt.env, got, tt.want)
		}
	}
}

// bridge is a bridge's configuration with Access Control Services behind another capability.
func bridge(control uint16) []byte {
	config := make([]byte, 4096)
	binary.LittleEndian.PutUint32(config[0x100:], 0x148<<20|1<<16|0x0001)
	binary.LittleEndian.PutUint32(config[0x148:], 1<<16|0x000d)
	binary.LittleEndian.PutUint16(config[0x14e:], control)
	return config
}

// TestBus reads bare metal with two GPUs below one bridge.
func TestBus(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config []byte
		group  string
		want   Bus
	}{
		{"redirects", bridge(0x1d), "DMA", Bus{Virtual: "no", IOMMU: "translated", ACS: "on"}},
		{"allows", bridge(0), "identity", Bus{Virtual: "no", IOMMU: "passthrough", ACS: "off"}},
		{"source-alone", bridge(1), "", Bus{Virtual: "no", IOMMU: "off", ACS: "off"}},
		{"no-capability", make([]byte, 4096), "", Bus{Virtual: "no", IOMMU: "off", ACS: "off"}},
		{"not-root", make([]byte, 64), "DMA-FQ", Bus{Virtual: "no", IOMMU: "translated", ACS: ""}},
		{"blocked", bridge(0), "blocked", Bus{Virtual: "no", IOMMU: "", ACS: "off"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, "proc/cpuinfo"), "processor\t: 0\nflags\t\t: fpu vme\n")
			upper := "sys/devices/pci0000:00/0000:00:01.0"
			for i := range 2 {
				gpu := fmt.Sprintf("%s/0000:0%d:00.0", upper, i+1)
				hosttest.Write(t, filepath.Join(root, gpu, "vendor"), "0x10de\n")
				hosttest.Write(t, filepath.Join(root, gpu, "class"), "0x030200\n")
				if tt.group != "" {
					hosttest.Write(t, filepath.Join(root, gpu, "iommu_group/type"), tt.group+"\n")
				}
				hosttest.Link(t, root, "../../../"+gpu[4:], "sys/bus/pci/devices/"+filepath.Base(gpu))
			}
			hosttest.Must(t, os.WriteFile(filepath.Join(root, upper, "config"), tt.config, 0o644))
			apply, err := readBus(&Host{Root: root}, Options{})
			hosttest.Must(t, err)
			var f Facts
			apply(&f)
			if diff := cmp.Diff(tt.want, f.Machine.Bus); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRedirects(f *testing.F) {
	f.Add(bridge(4)[:0x150])
	f.Fuzz(func(t *testing.T, config []byte) {
		if redirects(config) && len(config) < extendedStart+8 {
			t.Error("found in less than one capability")
		}
	})
}

func TestMayLock(t *testing.T) {
	const all = "         0          0 4294967295\n"
	for _, tt := range []struct {
		status, users string
		want          bool
	}{
		{"CapEff:\t000001ffffffffff\n", all, true},
		{"CapEff:\t00000000a80425fb\n", all, false}, // Docker's default
		{"CapEff:\t000001ffffffffff\n", "         0       1000          1\n", false},
		{"", "", false},
	} {
		root := t.TempDir()
		hosttest.Write(t, filepath.Join(root, "proc/self/status"), "Name:\tx\n"+tt.status)
		hosttest.Write(t, filepath.Join(root, "proc/self/uid_map"), tt.users)
		if got := mayLock(&Host{Root: root}); got != tt.want {
			t.Errorf("%q, %q: %v", tt.status, tt.users, got)
		}
	}
}

func FuzzParseVirtual(f *testing.F) {
	f.Add("processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n")
	f.Fuzz(func(t *testing.T, cpuinfo string) {
		if parseVirtual(cpuinfo) == "yes" && !strings.Contains(cpuinfo, "hypervisor") {
			t.Error("a guest without a hypervisor")
		}
	})
}
