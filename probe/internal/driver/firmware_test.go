package driver

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestReadFirmware(t *testing.T) {
	const there = "-- usr/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin.xz --\n" +
		"-- usr/lib/firmware/nvidia/tu102/gsp/gsp.bin --\n"
	for _, tt := range []struct {
		name, tree string
		want       facts.Machine
	}{
		{"there", there, facts.Machine{Firmware: []string{"580.95.05"}}},
		{"of-the-driver-container", "-- run/nvidia/driver/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin --\n",
			facts.Machine{Firmware: []string{"580.95.05"}}},
		{"of-NixOS", "-- run/current-system/firmware/nvidia/580.95.05/gsp_tu10x.bin.xz --\n",
			facts.Machine{Firmware: []string{"580.95.05"}}},
		{"nouveau-s-own", "-- lib/firmware/nvidia/ga102/gsp/bootloader-535.113.01.bin --\n", facts.Machine{}},
		{"off", there + "-- etc/modprobe.d/nvidia.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n",
			facts.Machine{Firmware: []string{"580.95.05"}, GSPOff: "/etc/modprobe.d/nvidia.conf"}},
		{"commented", there + "-- etc/modprobe.d/nvidia.conf --\n# options nvidia NVreg_EnableGpuFirmware=0\n",
			facts.Machine{Firmware: []string{"580.95.05"}}},
		{"hidden-by-etc", there + "-- usr/lib/modprobe.d/nvidia.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n" +
			"-- etc/modprobe.d/nvidia.conf --\n", facts.Machine{Firmware: []string{"580.95.05"}}},
		{"last-holds", there + "-- etc/modprobe.d/a.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n" +
			"-- etc/modprobe.d/b.conf --\noptions nvidia NVreg_EnableGpuFirmware=1\n",
			facts.Machine{Firmware: []string{"580.95.05"}}},
		{"loaded-says", there + "-- proc/driver/nvidia/params --\nEnableGpuFirmware: 18\n" +
			"-- etc/modprobe.d/a.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n",
			facts.Machine{Firmware: []string{"580.95.05"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f facts.Facts
			if apply, _ := ReadFirmware(hosttest.Tree(t, tt.tree)); apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Machine); diff != "" {
				t.Errorf("firmware (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseGSPOption(t *testing.T) {
	for _, c := range []struct {
		text, value string
		ok          bool
	}{
		{"options nvidia NVreg_EnableGpuFirmware=0\n", "0", true},
		{"options nvidia-550 NVreg_Foo=1 NVreg_EnableGpuFirmware=18", "18", true},
		{"options nvidia NVreg_EnableGpuFirmware=0\noptions nvidia NVreg_EnableGpuFirmware=1\n", "1", true},
		{"# options nvidia NVreg_EnableGpuFirmware=0\n", "", false},
		{"options nouveau NVreg_EnableGpuFirmware=0\n", "", false},
		{"options nvidia\n", "", false},
		{"", "", false},
	} {
		if value, ok := parseGSPOption([]byte(c.text)); value != c.value || ok != c.ok {
			t.Errorf("%q: %q, %v, want %q, %v", c.text, value, ok, c.value, c.ok)
		}
	}
}
