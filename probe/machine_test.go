package probe

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func TestParseAptConf(t *testing.T) {
	const conf = `// Automatically upgrade packages
APT::Periodic::Unattended-Upgrade "1";
Unattended-Upgrade::Allowed-Origins {
	"${distro_id}:${distro_codename}-security"; # yes
//	"${distro_id}:${distro_codename}-updates";
};
/* "not:this"; */
Unattended-Upgrade {
	Package-Blacklist { "nvidia-"; "libcuda1$"; };
	Mail "root//localhost";
};
Acquire::http::Proxy "http://proxy:3128";
`
	want := map[string][]string{
		"APT::Periodic::Unattended-Upgrade":     {"1"},
		"Unattended-Upgrade::Allowed-Origins":   {"${distro_id}:${distro_codename}-security"},
		"Unattended-Upgrade::Package-Blacklist": {"nvidia-", "libcuda1$"},
		"Unattended-Upgrade::Mail":              {"root//localhost"},
		"Acquire::http::Proxy":                  {"http://proxy:3128"},
	}
	if diff := cmp.Diff(want, parseAptConf([]byte(conf))); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// apt is what Ubuntu ships; the tests change one thing of it.
const apt = `
-- usr/bin/unattended-upgrade --
-- etc/apt/apt.conf.d/20auto-upgrades --
APT::Periodic::Unattended-Upgrade "1";
-- etc/apt/apt.conf.d/50unattended-upgrades --
Unattended-Upgrade::Allowed-Origins { "${distro_id}:${distro_codename}-security"; };
`

func TestReadUpdates(t *testing.T) {
	ubuntu := Updates{Tool: "unattended-upgrades", From: "/etc/apt/apt.conf.d/20auto-upgrades",
		Origins: []string{"${distro_id}:${distro_codename}-security"}}
	pinned := ubuntu
	pinned.Pinned = "/etc/apt/preferences.d/nvidia"
	const dnf = "-- etc/dnf/automatic.conf --\n[commands]\n# apply_updates = no\napply_updates = yes\n[emitters]\n" +
		"emit_via = stdio\n"
	const timer = "-- etc/systemd/system/timers.target.wants/dnf-automatic.timer -> " +
		"/usr/lib/systemd/system/dnf-automatic.timer --\n"
	const repo = "-- etc/yum.repos.d/cuda-rhel9.repo --\n[cuda-rhel9-x86_64]\n" +
		"baseurl=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64\nenabled=1\n" +
		"-- etc/yum.repos.d/off.repo --\n[nvidia-off]\nbaseurl=https://example.com/nvidia\nenabled=0\n"
	const al2023 = "-- etc/os-release --\nID=\"amzn\"\nPRETTY_NAME=\"Amazon Linux 2023.7.20250512\"\n" +
		"-- etc/yum.repos.d/amazonlinux-nvidia.repo --\n" +
		"[amazonlinux-nvidia]\nmirrorlist=https://cdn.amazonlinux.com/al2023/nvidia/mirrors/" +
		"$releasever/$basearch/mirror.list\nenabled=1\n"
	amazon := Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
		Repos: []string{"amazonlinux-nvidia.repo [amazonlinux-nvidia]"}}
	for _, tt := range []struct {
		name, tree string
		want       Updates
	}{
		{"ubuntu", apt, ubuntu},
		{"off", apt + "-- etc/apt/apt.conf.d/99off --\nAPT::Periodic::Unattended-Upgrade \"0\";\n", Updates{}},
		{"masked", apt + "-- etc/systemd/system/apt-daily-upgrade.timer -> /dev/null --\n", Updates{}},
		{"not-installed", "-- etc/apt/apt.conf.d/20auto-upgrades --\nAPT::Periodic::Unattended-Upgrade \"1\";\n",
			Updates{}},
		{"pinned", apt + "-- etc/apt/preferences.d/nvidia --\nPackage: *nvidia*\nPin: version 580.*\n" +
			"Pin-Priority: 1001\n", pinned},
		{"cuda-repository-pin", apt + "-- etc/apt/preferences.d/cuda-repository-pin-600 --\nPackage: nsight-compute\n" +
			"Pin: origin *ubuntu.com*\nPin-Priority: -1\n\nPackage: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n",
			ubuntu},
		{"dnf", dnf + timer + repo, Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
			Repos: []string{"cuda-rhel9.repo [cuda-rhel9-x86_64]"}}},
		{"dnf-no-timer", dnf + repo, Updates{}},
		{"dnf-locked", dnf + timer + "-- etc/dnf/plugins/versionlock.list --\n# added\n" +
			"nvidia-driver-3:580.95.05-1.*\n-- etc/dnf/dnf.conf --\n[main]\nexclude=kernel* kmod-nvidia*\n",
			Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
				Blacklist: []string{"nvidia-driver-3:580.95.05-1.*", "kernel*", "kmod-nvidia*"}}},
		{"dnf5-locked", dnf + timer + "-- etc/dnf/versionlock.toml --\nversion = \"1.0\"\n[[packages]]\n" +
			"name = \"nvidia-driver-cuda\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\n" +
			"value = \"3:580.95.05-1.fc42\"\n",
			Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf", Blacklist: []string{"nvidia-driver-cuda"}}},
		{"al2023-stands-still", dnf + timer + al2023, Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
		{"al2023-same-release", dnf + timer + al2023 + "-- etc/dnf/vars/releasever --\n2023.7.20250512\n",
			Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
		{"al2023-latest", dnf + timer + al2023 + "-- etc/dnf/vars/releasever --\nlatest\n", amazon},
		{"al2023-nvidia-repo", dnf + timer + al2023 + repo,
			Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
				Repos: []string{"cuda-rhel9.repo [cuda-rhel9-x86_64]"}}},
		{"al2", dnf + timer + strings.Replace(al2023, "Amazon Linux 2023.7.20250512", "Amazon Linux 2", 1), amazon},
		{"dnf-install-timer", "-- etc/systemd/system/timers.target.wants/dnf-automatic-install.timer -> x --\n",
			Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f Facts
			if apply, _ := readUpdates(hosttest.Tree(t, tt.tree), Options{}); apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Machine.Updates); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFirmware(t *testing.T) {
	const there = "-- usr/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin.xz --\n" +
		"-- usr/lib/firmware/nvidia/tu102/gsp/gsp.bin --\n"
	for _, tt := range []struct {
		name, tree string
		want       Machine
	}{
		{"there", there, Machine{Firmware: []string{"580.95.05"}}},
		{"nouveau-s-own", "-- lib/firmware/nvidia/ga102/gsp/bootloader-535.113.01.bin --\n", Machine{}},
		{"off", there + "-- etc/modprobe.d/nvidia.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n",
			Machine{Firmware: []string{"580.95.05"}, GSPOff: "/etc/modprobe.d/nvidia.conf"}},
		{"commented", there + "-- etc/modprobe.d/nvidia.conf --\n# options nvidia NVreg_EnableGpuFirmware=0\n",
			Machine{Firmware: []string{"580.95.05"}}},
		{"hidden-by-etc", there + "-- usr/lib/modprobe.d/nvidia.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n" +
			"-- etc/modprobe.d/nvidia.conf --\n", Machine{Firmware: []string{"580.95.05"}}},
		{"last-holds", there + "-- etc/modprobe.d/a.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n" +
			"-- etc/modprobe.d/b.conf --\noptions nvidia NVreg_EnableGpuFirmware=1\n",
			Machine{Firmware: []string{"580.95.05"}}},
		{"loaded-says", there + "-- proc/driver/nvidia/params --\nEnableGpuFirmware: 18\n" +
			"-- etc/modprobe.d/a.conf --\noptions nvidia NVreg_EnableGpuFirmware=0\n",
			Machine{Firmware: []string{"580.95.05"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f Facts
			if apply, _ := readFirmware(hosttest.Tree(t, tt.tree), Options{}); apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Machine); diff != "" {
				t.Errorf("firmware (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadMachineLive reads a machine that runs: an A100 host in a Slurm job.
func TestReadMachineLive(t *testing.T) {
	archive := txtar.Parse([]byte(`
-- @env --
SLURM_JOB_ID=4711
-- proc/uptime --
350735.47 234388.90
-- proc/1/comm --
systemd
-- proc/4711/comm --
nv-fabricmanage
-- proc/4712/comm --
nvidia-persiste
-- proc/bus/comm --
nvidia-gridd
-- sys/bus/pci/devices/0000:c4:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:c4:00.0/class --
0x068000
-- sys/bus/pci/devices/0000:c5:00.0/vendor --
0x10de
-- sys/bus/pci/devices/0000:c5:00.0/class --
0x068000
-- sys/bus/pci/devices/0000:c5:00.0/driver -> /sys/bus/pci/drivers/vfio-pci --
-- sys/bus/pci/drivers/vfio-pci/ --
-- sys/module/ib_umad/ --
-- usr/bin/nv-fabricmanager --
-- var/lib/dpkg/status --
Package: nvidia-fabricmanager-535
Status: install ok installed
Version: 535.183.01-1
-- run/nvidia/driver/usr/ --
`))
	f := runSources(context.Background(), hosttest.Of(t, archive), Options{})
	want := Machine{Uptime: 350735.47, Job: "slurm", Persistenced: true,
		Installers: []Installer{{Kind: "driver-container", Path: "/run/nvidia/driver/usr"}},
		Packages: []DriverPackage{{Name: "nvidia-fabricmanager-535", Version: "535.183.01-1",
			From: "/var/lib/dpkg/status"}},
		Fabric: Fabric{Manager: "/usr/bin/nv-fabricmanager", Version: "535.183.01-1",
			From: "package nvidia-fabricmanager-535", Running: "yes", UMAD: "loaded", Switches: 1}}
	if diff := cmp.Diff(want, f.Machine); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
}

func TestKernelLinesForgetTroubleWhenTheDriverIsLoadedAgain(t *testing.T) {
	var log kernelLines
	for _, line := range []string{
		"NVRM: Xid (PCI:0000:31:00): 95, pid=1, name=a, Uncontained",
		"NVRM: Xid (PCI:0000:31:00): 79, pid=1, name=a, GPU has fallen off the bus.",
		"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  " +
			"(dvs-builder@U22-I3-AM02-12-3)",
		"NVRM: Xid (PCI:0000:31:00): 13, pid=2, name=b, Graphics Exception",
	} {
		log.add(line)
	}
	if len(log.xids) != 1 || !bytes.Contains([]byte(log.xids[0]), []byte("): 13,")) {
		t.Errorf("Xids are %q", log.xids)
	}
	if len(log.trouble) != 0 {
		t.Errorf("trouble is %q", log.trouble)
	}
}

// TestDriverTrouble has one line of each kind that proves a driver which no longer answers, and some that do not.
func TestDriverTrouble(t *testing.T) {
	for line, want := range map[string]bool{
		"NVRM: Xid (PCI:0000:31:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the " +
			"bus.": true,
		"NVRM: Xid (PCI:0000:31:00): 119, pid=4, name=a, Timeout after 6s of waiting for RPC " +
			"response": true,
		"NVRM: Xid (PCI:0000:31:00): 120, pid=4, name=a, GSP task " +
			"exception": true,
		"NVRM: Xid (PCI:0000:31:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset " +
			"Required)": true,
		"NVRM: GPU 0000:31:00.0: RmInitAdapter failed! " +
			"(0x25:0x65:1457)": true,
		"NVRM: Xid (PCI:0000:31:00): 31, pid=4, name=python, MMU " +
			"Fault": false,
		"NVRM: Xid (PCI:0000:31:00): 7, pid=9, name=a, " +
			"79,": false,
	} {
		var log kernelLines
		log.add(line)
		if (len(log.trouble) == 1) != want {
			t.Errorf("%s: %q", line, log.trouble)
		}
	}
}

// TestLicenceWatch cuts a module at every byte: where a read ends must not matter.
func TestLicenceWatch(t *testing.T) {
	for want, licence := range map[string]string{"proprietary": "NVIDIA", "open": "Dual MIT/GPL", "": "GPL"} {
		data := []byte("alias=x\x00license=" + licence + "\x00version=580.95.05\x00")
		for cut := range data {
			var w licenceWatch
			_, _ = w.Write(data[:cut])
			if _, err := w.Write(data[cut:]); err != nil || w.flavour != want {
				t.Errorf("%s cut at %d: %q, %v", licence, cut, w.flavour, err)
			}
		}
	}
}

func FuzzParseAptConf(f *testing.F) {
	f.Add([]byte("A::B { \"c\"; };"))
	f.Add([]byte("}}};\"x\";/*"))
	f.Fuzz(func(t *testing.T, data []byte) { parseAptConf(data) })
}
