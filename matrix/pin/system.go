package pin

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// System is the operating system that commands are written for.
type System struct {
	// Family is "ubuntu", "debian", "rhel" (and its derivatives), "amzn" or "fedora". It is "other" for a system that
	// gets only words, and "" if unknown.
	Family  string
	Release string // "24.04", "9.6", "2023.9.20251110"; empty where it is not known
	Arch    string // as NVIDIA's repositories call it: "x86_64", "sbsa"
	Kernel  string // that runs or will boot, "6.8.0-1021-aws"; empty where it is not known
	Root    bool   // commands are root's, and there is no sudo: in a container
}

// APT reports whether the system installs Debian packages with apt.
func (s System) APT() bool { return s.Family == "ubuntu" || s.Family == "debian" }

// DNF reports whether dnf installs the system's packages.
func (s System) DNF() bool { return s.Family == "rhel" || s.Family == "amzn" || s.Family == "fedora" }

// AsRoot returns a command that runs as root.
func (s System) AsRoot(words ...string) string {
	if s.Root {
		return Command(words...)
	}
	return Command(append([]string{"sudo"}, words...)...)
}

// Install returns the command that installs packages, or "" if the package manager is not known. It updates the package
// lists first, because those of a fresh host are older than the archive:
// https://manpages.debian.org/stable/apt/apt-get.8.en.html.
func (s System) Install(packages ...string) string {
	switch {
	case s.APT():
		return Sequence(s.AsRoot("apt-get", "update"), s.AsRoot(append([]string{"apt-get", "install", "-y"}, packages...)...))
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "install", "-y"}, packages...)...)
	}
	return ""
}

// Pattern returns a package at its maker's release with any distribution suffix, as a pattern for apt-get(8) or dnf.
func (s System) Pattern(name, release string) string {
	if s.APT() {
		return name + "=" + release + "*"
	}
	return name + "-" + release
}

// Releases returns the command that lists the releases of a package that the distribution offers, or "" if the package
// manager has none.
func (s System) Releases(name string) string {
	switch {
	case s.APT():
		return Command("apt-cache", "madison", name)
	case s.DNF():
		return Command("dnf", "list", "--showduplicates", name)
	}
	return ""
}

// Reinstall returns the command that restores the files of packages.
func (s System) Reinstall(packages ...string) string {
	switch {
	case s.APT():
		return Sequence(s.AsRoot("apt-get", "update"),
			s.AsRoot(append([]string{"apt-get", "install", "--reinstall", "-y"}, packages...)...))
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "reinstall", "-y"}, packages...)...)
	}
	return ""
}

// Remove returns the command that removes packages and, on Debian, their configuration.
func (s System) Remove(packages ...string) string {
	switch {
	case s.APT():
		return s.AsRoot(append([]string{"apt-get", "purge", "-y"}, packages...)...)
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "remove", "-y"}, packages...)...)
	}
	return ""
}

// Write returns the command that writes one line to a file owned by root.
func (s System) Write(line, file string) string {
	return Command("echo", line) + " | " + s.AsRoot("tee", file)
}

// Initramfs returns the command that rebuilds the initramfs images: initramfs-tools(7) on Debian, dracut(8) on Red Hat.
func (s System) Initramfs() string {
	switch {
	case s.APT():
		return s.AsRoot("update-initramfs", "-u", "-k", "all")
	case s.DNF():
		return s.AsRoot("dracut", "--force", "--regenerate-all")
	}
	return ""
}

// InitramfsOf returns the command that rebuilds the initramfs of one kernel.
func (s System) InitramfsOf(kernel string) string {
	switch {
	case s.APT():
		return s.AsRoot("update-initramfs", "-u", "-k", kernel)
	case s.DNF():
		return s.AsRoot("dracut", "--force", "--kver", kernel)
	}
	return ""
}

// Headers returns the package against which DKMS builds a kernel's modules. Ubuntu's server documentation names its own
// (install-nvidia-drivers.md, read 2026-11-26).
func (s System) Headers(kernel string) string {
	if s.DNF() {
		return s.kernelPackage(kernel) + "-devel-" + kernel
	}
	return "linux-headers-" + kernel
}

// kernelPackage returns the package of a kernel. Amazon Linux 2023 has "kernel" for 6.1, and a package named after each
// later series: "kernel6.12", "kernel6.18" (install-nvidia-driver.sh of awslabs/amazon-eks-ami, read 2026-11-26).
func (s System) kernelPackage(kernel string) string {
	series := kernelSeries.FindString(kernel)
	if s.Family != "amzn" || series == "" || series == "6.1" {
		return "kernel"
	}
	return "kernel" + series
}

// kernelSeries matches "6.12" in "6.12.20-23.97.amzn2023.x86_64".
var kernelSeries = lazyregexp.New(`^\d+\.\d+`)

// cudaRepositories is where NVIDIA's driver packages are, with a directory for each distribution.
const cudaRepositories = "https://developer.download.nvidia.com/compute/cuda/repos/"

// repositoryDir returns the distribution's directory in NVIDIA's repositories, "rhel9/x86_64".
func (s System) repositoryDir() string { return s.Family + s.major() + "/" + s.Arch }

// major returns the first number of the system's version.
func (s System) major() string {
	major, _, _ := strings.Cut(s.Release, ".")
	return major
}

// addRepository returns the command that adds NVIDIA's driver repository to dnf's.
func (s System) addRepository() string {
	file := cudaRepositories + s.repositoryDir() + "/cuda-" + s.Family + s.major() + ".repo"
	if s.Family == "fedora" { // whose dnf is the fifth
		return s.AsRoot("dnf", "config-manager", "addrepo", "--from-repofile="+file)
	}
	return s.AsRoot("dnf", "config-manager", "--add-repo", file)
}

// Driver is a branch of NVIDIA's driver with the kind of kernel module to install.
type Driver struct {
	Branch  string // "580"
	Open    bool
	Desktop bool // for GeForce and laptops, not for data centres
}

// ubuntuPackage returns the branch's package: the server package, which Ubuntu maintains for data centres (its server
// documentation, install-nvidia-drivers.md, read 2026-11-26), or for desktops and laptops the one without that
// word, which `ubuntu-drivers devices` recommends there (https://github.com/NVIDIA/open-gpu-kernel-modules/issues/872).
func (d Driver) ubuntuPackage() string {
	name := "nvidia-driver-" + d.Branch
	if !d.Desktop {
		name += "-server"
	}
	if d.Open {
		name += "-open"
	}
	return name
}

// nvidiaPackage returns the package in NVIDIA's repositories.
func (d Driver) nvidiaPackage() string {
	if d.Open {
		return "nvidia-open"
	}
	return "cuda-drivers"
}

// moduleStream returns the branch's module stream in NVIDIA's repositories for RHEL 8 and 9 and Amazon Linux 2023.
func (d Driver) moduleStream() string {
	if d.Open {
		return "nvidia-driver:" + d.Branch + "-open"
	}
	return "nvidia-driver:" + d.Branch + "-dkms"
}

// Driver returns the commands that install a driver, including its repository and what its module is built with, or ""
// if the package manager is unknown. Excerpts of NVIDIA's driver installation guide were read on 2026-11-26: the pages
// on kernel modules (620/kernel-modules.html: the streams, the locks and the packages of each distribution) and
// version-locking.html. The guide's page for each distribution is named beside its commands, with the source that was
// read instead if the page was not opened.
func (s System) Driver(d Driver) string {
	major := s.major()
	switch {
	// Ubuntu's own archive has the driver, in the component restricted, which is enabled by default.
	case s.Family == "ubuntu":
		return s.Install(d.ubuntuPackage())
	// debian.html was not opened. In a root of Debian 12, apt resolved the packages in a dry run, with stand-ins for
	// curl and dpkg (tools/lab/steps). A minimal system has no curl. The package that pins the branch is installed
	// first, because apt resolves the driver with the preferences that exist at that time.
	case s.Family == "debian":
		needs := []string{"curl", "ca-certificates"}
		if s.Kernel != "" {
			needs = append(needs, s.Headers(s.Kernel))
		}
		key := "cuda-keyring_1.1-1_all.deb"
		return Sequence(s.Install(needs...), Command("curl", "-fsSLO", cudaRepositories+s.repositoryDir()+"/"+key),
			s.AsRoot("dpkg", "-i", key), s.Install("nvidia-driver-pinning-"+d.Branch), s.AsRoot("apt-get", "install", "-y", d.nvidiaPackage()))
	// amazon-linux.html was not opened; the source is install-nvidia-driver.sh of awslabs/amazon-eks-ami. Its dkms is
	// NVIDIA's.
	case s.Family == "amzn":
		return Sequence(s.AsRoot(append([]string{"dnf", "install", "-y"}, s.amazonBuildPackages()...)...), s.addRepository(), s.enableStream(d))
	// red-hat-enterprise-linux.html was not opened; the source is installing_nvidia_gpu_drivers.md of Rocky Linux's
	// documentation. dkms is from EPEL.
	case s.Family == "rhel":
		needs := []string{"https://dl.fedoraproject.org/pub/epel/epel-release-latest-" + major + ".noarch.rpm", "kernel-headers"}
		if major == "8" {
			if s.Kernel != "" {
				needs = append(needs, s.Headers(s.Kernel))
			}
			return Sequence(s.Install(needs...), s.addRepository(), s.enableStream(d))
		}
		needs = append(needs, "kernel-devel-matched")
		if major == "9" {
			return Sequence(s.Install(needs...), s.addRepository(), s.enableStream(d))
		}
		needs = append(needs, "python3-dnf-plugin-versionlock")
		return Sequence(s.Install(needs...), s.addRepository(), s.lockBranch(d))
	// fedora.html was not opened. dnf5-plugins contains config-manager.
	case s.Family == "fedora":
		return Sequence(s.Install("dnf5-plugins", "kernel-devel-matched", "kernel-headers"), s.addRepository(), s.lockBranch(d))
	}
	return ""
}

// toolkitRepository is NVIDIA's repository of its container toolkit; no distribution has it (the toolkit's install
// guide, https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html, an older copy of
// which was read on 2026-11-26).
const toolkitRepository = "https://nvidia.github.io/libnvidia-container/"

// ContainerToolkit returns the commands that install NVIDIA's container toolkit, with its repository.
func (s System) ContainerToolkit() string {
	const name, keyring = "nvidia-container-toolkit", "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
	switch {
	case s.APT():
		key := Command("curl", "-fsSL", toolkitRepository+"gpgkey") + " | " + s.AsRoot("gpg", "--yes", "--dearmor", "-o", keyring)
		list := Command("curl", "-fsSL", toolkitRepository+"stable/deb/"+name+".list") + " | " +
			Command("sed", "s#deb https://#deb [signed-by="+keyring+"] https://#g") + " | " +
			s.AsRoot("tee", "/etc/apt/sources.list.d/"+name+".list")
		return Sequence(s.Install("ca-certificates", "curl", "gnupg"), key, list, s.Install(name))
	case s.DNF():
		repository := Command("curl", "-fsSL", toolkitRepository+"stable/rpm/"+name+".repo") + " | " +
			s.AsRoot("tee", "/etc/yum.repos.d/"+name+".repo")
		return Sequence(repository, s.Install(name))
	}
	return ""
}

// amazonBuildPackages returns the packages that a kernel module is built with on Amazon Linux 2023.
func (s System) amazonBuildPackages() []string {
	var packages []string
	for _, part := range []string{"devel", "headers", "modules-extra"} {
		name := s.kernelPackage(s.Kernel) + "-" + part
		if s.Kernel != "" {
			name += "-" + s.Kernel
		}
		packages = append(packages, name)
	}
	return packages
}

// enableStream returns the command that selects the branch: its module stream, or a version lock on RHEL 10 and Fedora,
// which have no streams.
func (s System) enableStream(d Driver) string {
	return Sequence(s.AsRoot("dnf", "module", "reset", "-y", "nvidia-driver"), s.AsRoot("dnf", "module", "enable", "-y", d.moduleStream()),
		s.Install(d.nvidiaPackage()))
}

func (s System) lockBranch(d Driver) string {
	return Sequence(s.AsRoot("dnf", "versionlock", "add", "*nvidia*"+d.Branch+"*"), s.Install(d.nvidiaPackage()))
}

// AnyDriver returns the commands for an unknown system: apt's, on Ubuntu, and dnf's, with NVIDIA's repository already
// set up.
func AnyDriver(d Driver) map[string]string {
	return map[string]string{
		"apt": System{Family: "ubuntu"}.Driver(d) + "  # Ubuntu",
		"dnf": System{Family: "rhel"}.enableStream(d) + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)",
	}
}
