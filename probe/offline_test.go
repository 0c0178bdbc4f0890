package probe

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestOfflineSeesNothingThatRuns reads one machine with and without a loaded driver: with --offline the facts are the
// same, whatever /proc, /sys and /dev say.
func TestOfflineSeesNothingThatRuns(t *testing.T) {
	files := map[string]string{
		"etc/os-release": "ID=ubuntu\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n",
		"lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko":                    "version=580.95.05",
		"boot/vmlinuz-6.8.0-1021-aws":                                          "x",
		"usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05":                        "x",
		"usr/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin":                      "x",
		"opt/venv/pyvenv.cfg":                                                  "version = 3.12.3\n",
		"opt/venv/lib/python3.12/site-packages/torch-2.9.0.dist-info/METADATA": "Name: torch\nVersion: 2.9.0\n",
	}
	running := map[string]string{
		"proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n",
		"proc/driver/nvidia/gpus/0000:00:1e.0/information": "Model: NVIDIA L4\nDevice Minor: 0\n",
		"proc/sys/kernel/osrelease":                        "6.8.0-1015-aws\n",
		"proc/uptime":                                      "100.0 100.0\n",
		"proc/devices":                                     "Character devices:\n195 nvidia\n\nBlock devices:\n  7 loop\n",
		"proc/self/mountinfo":                              "1 0 0:1 / / rw - overlay overlay rw\n",
		"proc/1/comm":                                      "systemd\n",
		"sys/module/nvidia/version":                        "535.183.01\n",
		"sys/bus/pci/devices/0000:00:1e.0/vendor":          "0x10de\n",
		"sys/bus/pci/devices/0000:00:1e.0/device":          "0x27b8\n",
		"sys/bus/pci/devices/0000:00:1e.0/class":           "0x030200\n",
		"sys/class/dmi/id/product_name":                    "g6.xlarge\n",
		"sys/class/dmi/id/sys_vendor":                      "Amazon EC2\n",
		"sys/kernel/security/lockdown":                     "none [integrity] confidentiality\n",
		"sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\x00\x00\x00\x01",
		"dev/nvidia0": "",
		"dev/dxg":     "",
	}
	read := func(more map[string]string) Facts {
		root := t.TempDir()
		for _, list := range []map[string]string{files, more} {
			for name, text := range list {
				hosttest.Write(t, filepath.Join(root, name), text)
			}
		}
		hosttest.Must(t, os.Symlink("libcuda.so.580.95.05", filepath.Join(root, "usr/lib/x86_64-linux-gnu/libcuda.so.1")))
		h := Offline()
		h.Root = root
		f := Run(context.Background(), h, Options{})
		for i := range f.Probes {
			f.Probes[i].Seconds = 0
		}
		return f
	}
	idle, loaded := read(nil), read(running)
	if diff := cmp.Diff(idle, loaded); diff != "" {
		t.Errorf("facts differ by what runs (-idle +loaded):\n%s", diff)
	}
	if len(idle.Environments) != 1 || len(idle.Driver.Modules) != 1 || idle.Driver.Version != "" {
		t.Errorf("too little was read: %+v", idle)
	}
}
