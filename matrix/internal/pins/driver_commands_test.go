package pins

import (
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestDesktopDriver checks that Ubuntu's data-centre driver is for GPUs that may be in a data centre. GeForce and laptops
// get the driver for desktops, in Windows too.
func TestDesktopDriver(t *testing.T) {
	for gpu, want := range map[string][2]string{
		"RTX 3060 Laptop": {"nvidia-driver-580-open", "Game Ready or Studio driver"}, "RTX 4070 Laptop": {"nvidia-driver-580-open", "Game Ready or Studio driver"},
		"RTX 5090": {"nvidia-driver-580-open", "Game Ready or Studio driver"}, "GTX 1080": {"nvidia-driver-580", "Game Ready or Studio driver"},
		"RTX 5000 Ada Generation Laptop GPU": {"nvidia-driver-580-open", "RTX Enterprise driver"},
		"RTX A2000":                          {"nvidia-driver-580-server-open", "RTX Enterprise driver"}, "L4": {"nvidia-driver-580-server-open", "data centre driver"},
		"RTX 3060,L4": {"nvidia-driver-580-server-open", "driver"}, "8.6": {"nvidia-driver-580-server-open", "driver"},
	} {
		m := model.NewMachine(tables.Embedded(), &facts.Facts{}, hardware.Target{GPUs: strings.Split(gpu, ",")}, verdict.Policy{})
		for _, b := range tables.Rows[tables.Branch](m.Tables) {
			if got := driverCommands(m, b)["apt"]; b.Branch == "580" && !strings.HasSuffix(got, " "+want[0]+"  # Ubuntu") {
				t.Errorf("%s: %s, want %s", gpu, got, want[0])
			}
		}
		if got := windowsEdition(m); got != want[1] {
			t.Errorf("%s in Windows: %s, want %s", gpu, got, want[1])
		}
	}
}

// TestDriverCommands checks each system's own command with the repository that has the package, and that a container's
// system is not taken for its host's.
func TestDriverCommands(t *testing.T) {
	const (
		ubuntu  = "sudo apt-get update && sudo apt-get install -y nvidia-driver-580-server-open"
		streams = "sudo dnf module reset -y nvidia-driver && sudo dnf module enable -y nvidia-driver:580-open && " +
			"sudo dnf install -y nvidia-open"
		anyDNF  = streams + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)"
		repos   = "https://developer.download.nvidia.com/compute/cuda/repos/"
		add     = "sudo dnf config-manager --add-repo " + repos
		curl    = "sudo apt-get update && sudo apt-get install -y curl ca-certificates"
		apt     = "sudo apt-get update && sudo apt-get install -y nvidia-driver-pinning-580 && sudo apt-get install -y nvidia-open"
		key     = "/cuda-keyring_1.1-1_all.deb && sudo dpkg -i cuda-keyring_1.1-1_all.deb && "
		epel    = "sudo dnf install -y https://dl.fedoraproject.org/pub/epel/epel-release-latest-"
		headers = ".noarch.rpm kernel-headers kernel-devel-matched"
	)
	for _, tt := range []struct {
		system   facts.System
		apt, dnf string
	}{
		{facts.System{}, ubuntu + "  # Ubuntu", anyDNF},
		{facts.System{OS: "Ubuntu 24.04.3 LTS", ID: "ubuntu", IDLike: "debian", Kernel: "6.8.0-1021-aws"}, ubuntu, ""},
		{facts.System{OS: "Debian GNU/Linux 12 (bookworm)", ID: "debian"}, curl + " && curl -fsSLO " + repos + "debian12/x86_64" + key + apt, ""},
		{facts.System{OS: "Debian GNU/Linux 13 (trixie)", ID: "debian", Arch: "aarch64", Kernel: "6.12.57+deb13-cloud-arm64"},
			curl + " linux-headers-6.12.57+deb13-cloud-arm64 && curl -fsSLO " + repos + "debian13/sbsa" + key + apt, ""},
		{facts.System{OS: "Amazon Linux 2023.9.20251110", ID: "amzn", IDLike: "fedora"}, "",
			"sudo dnf install -y kernel-devel kernel-headers kernel-modules-extra && " + add + "amzn2023/x86_64/cuda-amzn2023.repo && " + streams},
		{facts.System{OS: "Amazon Linux 2023.9.20251110", ID: "amzn", IDLike: "fedora", Kernel: "6.12.20-23.97.amzn2023.x86_64"}, "",
			"sudo dnf install -y kernel6.12-devel-6.12.20-23.97.amzn2023.x86_64 kernel6.12-headers-6.12.20-23.97.amzn2023.x86_64 " +
				"kernel6.12-modules-extra-6.12.20-23.97.amzn2023.x86_64 && " + add + "amzn2023/x86_64/cuda-amzn2023.repo && " + streams},
		{facts.System{OS: "Red Hat Enterprise Linux 9.6 (Plow)", ID: "rhel", IDLike: "fedora"}, "",
			epel + "9" + headers + " && " + add + "rhel9/x86_64/cuda-rhel9.repo && " + streams},
		{facts.System{OS: "Rocky Linux 8.10 (Green Obsidian)", ID: "rocky", IDLike: "rhel centos fedora", Kernel: "4.18.0-553.8.1.el8_10.x86_64"}, "",
			epel + "8.noarch.rpm kernel-headers kernel-devel-4.18.0-553.8.1.el8_10.x86_64 && " + add + "rhel8/x86_64/cuda-rhel8.repo && " + streams},
		{facts.System{OS: "AlmaLinux 10.1 (Heliotrope Lion)", ID: "almalinux", IDLike: "rhel centos fedora"}, "",
			epel + "10" + headers + " python3-dnf-plugin-versionlock && " + add + "rhel10/x86_64/cuda-rhel10.repo && " +
				"sudo dnf versionlock add '*nvidia*580*' && sudo dnf install -y nvidia-open"},
		{facts.System{OS: "Fedora Linux 44 (Server Edition)", ID: "fedora"}, "", "sudo dnf install -y dnf5-plugins kernel-devel-matched kernel-headers && " +
			"sudo dnf config-manager addrepo --from-repofile=" + repos + "fedora44/x86_64/cuda-fedora44.repo && " +
			"sudo dnf versionlock add '*nvidia*580*' && sudo dnf install -y nvidia-open"},
		{facts.System{OS: "Arch Linux", ID: "arch"}, "", ""},
		{facts.System{OS: "Ubuntu 24.04.3 LTS", ID: "ubuntu", IDLike: "debian", Container: "docker"}, ubuntu + "  # Ubuntu", anyDNF},
	} {
		m := model.NewMachine(tables.Embedded(), &facts.Facts{System: tt.system}, hardware.Target{GPUs: []string{"L4"}}, verdict.Policy{})
		var branch tables.Branch
		for _, b := range tables.Rows[tables.Branch](m.Tables) {
			if b.Branch == "580" {
				branch = b
			}
		}
		got := driverCommands(m, branch)
		if got["apt"] != tt.apt || got["dnf"] != tt.dnf {
			t.Errorf("%s:\n apt %q\nwant %q\n dnf %q\nwant %q", tt.system.OS, got["apt"], tt.apt, got["dnf"], tt.dnf)
		}
	}
}
