package driver

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestReadInstallers checks each mechanism that installs a module at boot, and things that only look like one.
func TestReadInstallers(t *testing.T) {
	for _, tt := range []struct{ tree, kind, path string }{
		{"-- opt/nvidia/lts/.version --\n580.95.05\n-- opt/nvidia/lts/flavors/open/lib/modules/6.12/extra/nvidia.ko.xz --\n" +
			"-- opt/nvidia/lts/flavors/grid/README --\n-- opt/nvidia/lts/usr/lib64/libcuda.so.580.95.05 --\n" +
			"-- etc/eks/nvidia-open-supported-devices-580.txt --\n# made of\n0x2237 NVIDIA A10G\n0x1EB8 Tesla T4\n" +
			"0x1EB9 Tesla T4\nnothing\n", "driver-tree", "/opt/nvidia/lts/flavors/open"},
		{"-- opt/nvidia/current/.version --\n580.95.05\n-- opt/nvidia/current/.driver-flavor --\ngrid\n" +
			"-- opt/nvidia/current/flavors/open/lib/modules/6.12/extra/nvidia.ko.xz --\n", "", ""},
		{"-- var/lib/dkms-archive/nvidia-open/nvidia-open-580.95.05-kernel6.1.134-x86_64.dkms.tar.gz --\n",
			"dkms-archive", "/var/lib/dkms-archive/nvidia-open"},
		{"-- etc/systemd/system/nvidia-kmod-load.service --\n", "kmod-load",
			"/etc/systemd/system/nvidia-kmod-load.service"},
		{"-- usr/lib/systemd/system/nvidia-kmod-load.service --\n", "kmod-load",
			"/usr/lib/systemd/system/nvidia-kmod-load.service"},
		{"-- usr/src/akmods/nvidia-kmod-580.95.05-1.fc42.src.rpm --\n", "akmods",
			"/usr/src/akmods/nvidia-kmod-580.95.05-1.fc42.src.rpm"},
		{"-- usr/share/nvidia/tesla/module-objects.d/nv-kernel.o --\n", "driverdog",
			"/usr/share/nvidia/tesla/module-objects.d"},
		{"-- usr/share/nvidia/open-gpu/drivers/nvidia.ko --\n", "driverdog",
			"/usr/share/nvidia/open-gpu/drivers/nvidia.ko"},
		{"-- usr/lib/nvidia/bin/setup-nvidia --\n", "flatcar", "/usr/lib/nvidia/bin/setup-nvidia"},
		{"-- run/nvidia/driver/usr/bin/nvidia-smi --\n", "driver-container", "/run/nvidia/driver/usr"},
		{"-- etc/systemd/system/nvidia-kmod-load.service -> /dev/null --\n" +
			"-- usr/lib/systemd/system/nvidia-kmod-load.service --\n", "", ""},
		{"-- usr/lib/systemd/system/kmod-static-nodes.service --\n" +
			"-- var/lib/dkms/nvidia/580.95.05/source/dkms.conf --\n-- var/lib/dkms-archive/zfs/zfs.tar.gz --\n", "",
			""},
	} {
		var f facts.Facts
		if apply, _ := ReadInstallers(hosttest.Tree(t, tt.tree)); apply != nil {
			apply(&f)
		}
		var want []facts.Installer
		if tt.kind != "" {
			want = []facts.Installer{{Kind: tt.kind, Path: tt.path}}
			switch tt.kind {
			case "dkms-archive":
				want[0].Versions = []string{"580.95.05"}
			case "driver-tree":
				want[0].Versions, want[0].Supports = []string{"580.95.05"}, []string{"A10G", "Tesla T4"}
				want[0].Brings = []string{"/opt/nvidia/lts/usr/lib64/libcuda.so.580.95.05"}
			}
		}
		if diff := cmp.Diff(want, f.Machine.Installers); diff != "" {
			t.Errorf("%s(-want +got):\n%s", tt.tree, diff)
		}
	}
}
