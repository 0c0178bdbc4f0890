package matrix

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// TestDriverCommands: each system's own command, with the repository that has the package; a container's system is not
// its host's.
func TestDriverCommands(t *testing.T) {
	const (
		ubuntu  = "sudo apt-get install nvidia-driver-580-server-open"
		streams = "sudo dnf module reset -y nvidia-driver && sudo dnf module enable -y nvidia-driver:580-open && " +
			"sudo dnf install nvidia-open"
		repos = "https://developer.download.nvidia.com/compute/cuda/repos/"
		add   = "sudo dnf config-manager --add-repo " + repos
		apt   = "sudo apt-get update && sudo apt-get install -V nvidia-driver-pinning-580 nvidia-open"
		key   = "/cuda-keyring_1.1-1_all.deb && sudo dpkg -i cuda-keyring_1.1-1_all.deb && "
	)
	for _, tt := range []struct {
		system   facts.System
		apt, dnf string
	}{
		{facts.System{}, ubuntu + "  # Ubuntu", streams + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)"},
		{facts.System{OS: "Ubuntu 24.04.3 LTS", ID: "ubuntu", IDLike: "debian"},
			ubuntu + "  # from Ubuntu's own archive (the restricted component)", ""},
		{facts.System{OS: "Debian GNU/Linux 12 (bookworm)", ID: "debian"}, "curl -fsSLO " + repos + "debian12/x86_64" + key + apt, ""},
		{facts.System{OS: "Debian GNU/Linux 13 (trixie)", ID: "debian", Arch: "aarch64"},
			"curl -fsSLO " + repos + "debian13/sbsa" + key + apt, ""},
		{facts.System{OS: "Amazon Linux 2023.9.20251110", ID: "amzn", IDLike: "fedora"}, "",
			add + "amzn2023/x86_64/cuda-amzn2023.repo && " + streams},
		{facts.System{OS: "Red Hat Enterprise Linux 9.6 (Plow)", ID: "rhel", IDLike: "fedora"}, "",
			add + "rhel9/x86_64/cuda-rhel9.repo && " + streams},
		{facts.System{OS: "Rocky Linux 8.10 (Green Obsidian)", ID: "rocky", IDLike: "rhel centos fedora"}, "",
			add + "rhel8/x86_64/cuda-rhel8.repo && " + streams},
		{facts.System{OS: "AlmaLinux 10.1 (Heliotrope Lion)", ID: "almalinux", IDLike: "rhel centos fedora"}, "",
			add + "rhel10/x86_64/cuda-rhel10.repo && sudo dnf versionlock add '*nvidia*580*' && sudo dnf install nvidia-open"},
		{facts.System{OS: "Arch Linux", ID: "arch"}, "", ""},
		{facts.System{OS: "Ubuntu 24.04.3 LTS", ID: "ubuntu", IDLike: "debian", Container: "docker"}, ubuntu + "  # Ubuntu",
			streams + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)"},
	} {
		m := newMachine(Embedded(), &facts.Facts{System: tt.system}, Target{GPUs: []string{"L4"}}, Policy{})
		var branch tables.Branch
		for _, b := range tables.Rows[tables.Branch](m.t) {
			if b.Branch == "580" {
				branch = b
			}
		}
		got := m.driverCommands(branch)
		if got["apt"] != tt.apt || got["dnf"] != tt.dnf {
			t.Errorf("%s:\n apt %q\nwant %q\n dnf %q\nwant %q", tt.system.OS, got["apt"], tt.apt, got["dnf"], tt.dnf)
		}
	}
}
