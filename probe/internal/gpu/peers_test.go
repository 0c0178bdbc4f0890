package gpu

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// bridge returns a bridge's configuration with Access Control Services behind another capability.
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
		want   facts.Bus
	}{
		{"redirects", bridge(0x1d), "DMA", facts.Bus{Virtual: "no", IOMMU: "translated", ACS: "on"}},
		{"allows", bridge(0), "identity", facts.Bus{Virtual: "no", IOMMU: "passthrough", ACS: "off"}},
		{"source-alone", bridge(1), "", facts.Bus{Virtual: "no", IOMMU: "off", ACS: "off"}},
		{"no-capability", make([]byte, 4096), "", facts.Bus{Virtual: "no", IOMMU: "off", ACS: "off"}},
		{"not-root", make([]byte, 64), "DMA-FQ", facts.Bus{Virtual: "no", IOMMU: "translated", ACS: ""}},
		{"blocked", bridge(0), "blocked", facts.Bus{Virtual: "no", IOMMU: "", ACS: "off"}},
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
			apply, err := ReadPeers(&host.Host{Root: root})
			hosttest.Must(t, err)
			var f facts.Facts
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
