package matrix

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// cudaRepositories is where NVIDIA's packages of the driver are, a directory for each distribution
// (https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/620/kernel-modules.html has the commands).
const cudaRepositories = "https://developer.download.nvidia.com/compute/cuda/repos/"

// driverCommands writes the installation in the words of the package manager of the system that was read, with the
// repository that has the package: Ubuntu's own, and NVIDIA's for the rest. Where no system is known, or a container's
// is, which is not its host's, they are for the two that most have. The module's flavour follows the GPUs: Blackwell
// needs the open one, what is older than Turing cannot use it.
func (m *machine) driverCommands(b tables.Branch) map[string]string {
	if m.partOfGPU() {
		return map[string]string{"ami": fmt.Sprintf("install the GRID driver of branch %s from AWS's bucket ec2-linux-nvidia-drivers, or launch from an AMI that has it: a fraction of a GPU works with no other driver", b.Branch)}
	}
	d := m.distribution()
	d.branch, d.open = b.Branch, m.openModule(b)
	commands := map[string]string{}
	if apt := d.apt(); apt != "" {
		commands["apt"] = apt
	}
	if dnf := d.dnf(); dnf != "" {
		commands["dnf"] = dnf
	}
	label(commands)
	commands["ami"] = fmt.Sprintf("launch from an AMI with driver %s or a newer one of branch %s (the AWS Deep Learning AMI release notes name each AMI's driver)", b.Newest, b.Branch)
	return commands
}

// label says in a shell's comment where each of two commands is for, since only one of them can be.
func label(commands map[string]string) {
	if commands["apt"] == "" || commands["dnf"] == "" {
		return
	}
	for tool, systems := range map[string]string{"apt": "Ubuntu", "dnf": "RHEL, Fedora, Amazon Linux 2023"} {
		if !strings.Contains(commands[tool], "  # ") {
			commands[tool] += "  # " + systems
		}
	}
}

// distribution is the system that a driver is installed on, as NVIDIA's repositories call it, and the driver.
type distribution struct {
	family  string // "ubuntu", "debian", "rhel", "amzn", "fedora"; empty: not known; "other"
	release string // "24.04", "12"; empty: not known
	arch    string // "x86_64", "sbsa"
	branch  string
	open    bool
}

// releaseNumber is the first number of PRETTY_NAME: "24.04" of "Ubuntu 24.04.3 LTS".
var releaseNumber = lazyregexp.New(`\b\d+(\.\d+)?`)

// distribution is the system whose package manager installs the driver; none is known in a container, whose driver is
// its host's.
func (m *machine) distribution() distribution {
	s := m.f.System
	d := distribution{release: releaseNumber.FindString(s.OS), arch: "x86_64"}
	if m.platform == "linux_aarch64" {
		d.arch = "sbsa"
	}
	likes := func(name string) bool { return strings.Contains(" "+s.ID+" "+s.IDLike+" ", " "+name+" ") }
	switch {
	case s.ID == "" || s.Container != "":
	case s.ID == "amzn":
		d.family = "amzn"
	case likes("ubuntu"):
		d.family = "ubuntu"
	case likes("debian"):
		d.family = "debian"
	case likes("rhel"):
		d.family = "rhel"
	case s.ID == "fedora":
		d.family = "fedora"
	default:
		d.family = "other"
	}
	return d
}

// directory is the distribution's in NVIDIA's repositories, "rhel9/x86_64".
func (d distribution) directory() string {
	major, _, _ := strings.Cut(d.release, ".")
	return d.family + major + "/" + d.arch
}

// packages are the driver's in NVIDIA's repositories.
func (d distribution) packages() string {
	if d.open {
		return "nvidia-open"
	}
	return "cuda-drivers"
}

// apt is the command for Debian's family: Ubuntu's own archive has the driver, Debian needs NVIDIA's repository.
func (d distribution) apt() string {
	switch d.family {
	case "":
		return d.ubuntu()
	case "ubuntu":
		return d.ubuntu() + "  # from Ubuntu's own archive (the restricted component)"
	case "debian":
		return fmt.Sprintf("curl -fsSLO %s%s/cuda-keyring_1.1-1_all.deb && sudo dpkg -i cuda-keyring_1.1-1_all.deb && sudo apt-get update && sudo apt-get install -V nvidia-driver-pinning-%s %s", cudaRepositories, d.directory(),
			d.branch, d.packages())
	}
	return ""
}

// ubuntu names the branch's server package, which Ubuntu maintains for data centres.
func (d distribution) ubuntu() string {
	suffix := "-server"
	if d.open {
		suffix = "-server-open"
	}
	return "sudo apt-get install nvidia-driver-" + d.branch + suffix
}

// dnf enables the branch's stream; RHEL 10 and Fedora have no streams, there a lock holds the branch.
func (d distribution) dnf() string {
	stream := "-dkms"
	if d.open {
		stream = "-open"
	}
	enable := fmt.Sprintf("sudo dnf module reset -y nvidia-driver && sudo dnf module enable -y nvidia-driver:%s%s && sudo dnf install %s", d.branch, stream, d.packages())
	add := fmt.Sprintf("sudo dnf config-manager --add-repo %s%s/cuda-%s.repo && ", cudaRepositories, d.directory(),
		strings.Split(d.directory(), "/")[0])
	lock := fmt.Sprintf("sudo dnf versionlock add '*nvidia*%s*' && sudo dnf install %s", d.branch, d.packages())
	switch {
	case d.family == "":
		return enable + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)"
	case d.family == "amzn", d.family == "rhel" && version.Int(strings.Split(d.release, ".")[0]) < 10:
		return add + enable
	case d.family == "rhel":
		return add + lock
	case d.family == "fedora":
		return strings.Replace(add, "--add-repo ", "addrepo --from-repofile=", 1) + lock
	}
	return ""
}
