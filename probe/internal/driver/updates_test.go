package driver

import (
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
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

func TestReadUpdates(t *testing.T) {
	ubuntu := facts.Updates{Tool: "unattended-upgrades", From: "/etc/apt/apt.conf.d/20auto-upgrades",
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
	amazon := facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
		Repos: []string{"amazonlinux-nvidia.repo [amazonlinux-nvidia]"}}
	for _, tt := range []struct {
		name, tree string
		want       facts.Updates
	}{
		{"ubuntu", apt, ubuntu},
		{"off", apt + "-- etc/apt/apt.conf.d/99off --\nAPT::Periodic::Unattended-Upgrade \"0\";\n", facts.Updates{}},
		{"masked", apt + "-- etc/systemd/system/apt-daily-upgrade.timer -> /dev/null --\n", facts.Updates{}},
		{"not-installed", "-- etc/apt/apt.conf.d/20auto-upgrades --\nAPT::Periodic::Unattended-Upgrade \"1\";\n",
			facts.Updates{}},
		{"pinned", apt + "-- etc/apt/preferences.d/nvidia --\nPackage: *nvidia*\nPin: version 580.*\n" +
			"Pin-Priority: 1001\n", pinned},
		{"pinned-libraries", apt + "-- etc/apt/preferences.d/nvidia --\nPackage: libnvidia-*\nPin: version 580.*\n" +
			"Pin-Priority: 1001\n", pinned},
		{"pinned-source", apt + "-- etc/apt/preferences.d/nvidia --\nPackage: src:*nvidia*:any\nPin: version 580.*\n" +
			"Pin-Priority: 1001\n", pinned},
		{"pinned-tools", apt + "-- etc/apt/preferences.d/cuda-repository-pin-600 --\nPackage: nvidia-modprobe\n" +
			"Pin: release l=NVIDIA CUDA\nPin-Priority: 600\n\nPackage: nvidia-settings\nPin: release l=NVIDIA CUDA\n" +
			"Pin-Priority: 600\n", ubuntu},
		{"pinned-container-toolkit", apt + "-- etc/apt/preferences.d/toolkit --\n" +
			"Package: nvidia-container-toolkit libnvidia-container1\nPin: version 1.17.*\nPin-Priority: 1001\n", ubuntu},
		{"cuda-repository-pin", apt + "-- etc/apt/preferences.d/cuda-repository-pin-600 --\nPackage: nsight-compute\n" +
			"Pin: origin *ubuntu.com*\nPin-Priority: -1\n\nPackage: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n",
			ubuntu},
		{"dnf", dnf + timer + repo, facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
			Repos: []string{"cuda-rhel9.repo [cuda-rhel9-x86_64]"}}},
		{"dnf-no-timer", dnf + repo, facts.Updates{}},
		{"dnf-locked", dnf + timer + "-- etc/dnf/plugins/versionlock.list --\n# added\n" +
			"nvidia-driver-3:580.95.05-1.*\n-- etc/dnf/dnf.conf --\n[main]\nexclude=kernel* kmod-nvidia*\n",
			facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
				Blacklist: []string{"nvidia-driver-3:580.95.05-1.*", "kernel*", "kmod-nvidia*"}}},
		{"dnf5-locked", dnf + timer + "-- etc/dnf/versionlock.toml --\nversion = \"1.0\"\n[[packages]]\n" +
			"name = \"nvidia-driver-cuda\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\n" +
			"value = \"3:580.95.05-1.fc42\"\n",
			facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf", Blacklist: []string{"nvidia-driver-cuda"}}},
		{"al2023-stands-still", dnf + timer + al2023, facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
		{"al2023-same-release", dnf + timer + al2023 + "-- etc/dnf/vars/releasever --\n2023.7.20250512\n",
			facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
		{"al2023-latest", dnf + timer + al2023 + "-- etc/dnf/vars/releasever --\nlatest\n", amazon},
		{"al2023-nvidia-repo", dnf + timer + al2023 + repo,
			facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf",
				Repos: []string{"cuda-rhel9.repo [cuda-rhel9-x86_64]"}}},
		{"al2", dnf + timer + strings.Replace(al2023, "Amazon Linux 2023.7.20250512", "Amazon Linux 2", 1), amazon},
		{"dnf-install-timer", "-- etc/systemd/system/timers.target.wants/dnf-automatic-install.timer -> x --\n",
			facts.Updates{Tool: "dnf-automatic", From: "/etc/dnf/automatic.conf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f facts.Facts
			if apply, _ := ReadUpdates(hosttest.Tree(t, tt.tree)); apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Machine.Updates); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseAptConf(f *testing.F) {
	f.Add([]byte("A::B { \"c\"; };"))
	f.Add([]byte("}}};\"x\";/*"))
	f.Fuzz(func(t *testing.T, data []byte) { parseAptConf(data) })
}

// apt is what Ubuntu ships; the tests change one thing of it.
const apt = `
-- usr/bin/unattended-upgrade --
-- etc/apt/apt.conf.d/20auto-upgrades --
APT::Periodic::Unattended-Upgrade "1";
-- etc/apt/apt.conf.d/50unattended-upgrades --
Unattended-Upgrade::Allowed-Origins { "${distro_id}:${distro_codename}-security"; };
`
