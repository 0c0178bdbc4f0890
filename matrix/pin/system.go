package pin

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// System is the operating system that commands are written for.
type System struct {
	// Family is "ubuntu", "debian", "rhel" (with what is built from it), "amzn" or "fedora"; "other", which gets words
	// only; empty where it is not known.
	Family  string
	Release string // "24.04", "9.6", "2023.9.20251110"; empty where it is not known
	Arch    string // as NVIDIA's repositories call it: "x86_64", "sbsa"
	Kernel  string // that runs or will boot, "6.8.0-1021-aws"; empty where it is not known
	Root    bool   // commands are root's, and there is no sudo: in a container
}

// APT reports whether its packages are Debian's.
func (s System) APT() bool { return s.Family == "ubuntu" || s.Family == "debian" }

// DNF reports whether dnf installs its packages.
func (s System) DNF() bool { return s.Family == "rhel" || s.Family == "amzn" || s.Family == "fedora" }

// AsRoot is a command that root has to give.
func (s System) AsRoot(words ...string) string {
	if s.Root {
		return Command(words...)
	}
	return Command(append([]string{"sudo"}, words...)...)
}

// Install installs packages, empty on a system whose package manager is none of those. A fresh host's lists of packages
// are older than the archive, hence the update: https://manpages.debian.org/stable/apt/apt-get.8.en.html.
func (s System) Install(packages ...string) string {
	switch {
	case s.APT():
		return All(s.AsRoot("apt-get", "update"), s.AsRoot(append([]string{"apt-get", "install", "-y"}, packages...)...))
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "install", "-y"}, packages...)...)
	}
	return ""
}

// Of is a package at a release of its maker's, whatever the distribution's own number behind it: a pattern of apt-get's
// (apt-get(8)) or of dnf's.
func (s System) Of(name, release string) string {
	if s.APT() {
		return name + "=" + release + "*"
	}
	return name + "-" + release
}

// Releases lists what the archive has of a package: apt-cache(8), dnf(8).
func (s System) Releases(name string) string {
	switch {
	case s.APT():
		return Command("apt-cache", "madison", name)
	case s.DNF():
		return Command("dnf", "list", "--showduplicates", name)
	}
	return ""
}

// Reinstall writes the files of packages again.
func (s System) Reinstall(packages ...string) string {
	switch {
	case s.APT():
		return All(s.AsRoot("apt-get", "update"),
			s.AsRoot(append([]string{"apt-get", "install", "--reinstall", "-y"}, packages...)...))
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "reinstall", "-y"}, packages...)...)
	}
	return ""
}

// Remove removes packages, with Debian's their configuration too.
func (s System) Remove(packages ...string) string {
	switch {
	case s.APT():
		return s.AsRoot(append([]string{"apt-get", "purge", "-y"}, packages...)...)
	case s.DNF():
		return s.AsRoot(append([]string{"dnf", "remove", "-y"}, packages...)...)
	}
	return ""
}

// Write puts one line into a file of root's.
func (s System) Write(line, file string) string {
	return Command("echo", line) + " | " + s.AsRoot("tee", file)
}

// Initramfs makes the images again that kernels boot with: initramfs-tools(7) on Debian's, dracut(8) on Red Hat's.
func (s System) Initramfs() string {
	switch {
	case s.APT():
		return s.AsRoot("update-initramfs", "-u", "-k", "all")
	case s.DNF():
		return s.AsRoot("dracut", "--force", "--regenerate-all")
	}
	return ""
}

// Headers is the package against which DKMS builds a module for a kernel; Ubuntu's server documentation names its own
// (install-nvidia-drivers.md, read 2026-11-26).
func (s System) Headers(kernel string) string {
	if s.DNF() {
		return s.kernelPackage(kernel) + "-devel-" + kernel
	}
	return "linux-headers-" + kernel
}

// kernelPackage is the package of a kernel. Amazon Linux 2023 has "kernel" for 6.1 and one for each later series, which
// is in its name: "kernel6.12", "kernel6.18" (install-nvidia-driver.sh of awslabs/amazon-eks-ami, read 2026-11-26).
func (s System) kernelPackage(kernel string) string {
	series := kernelSeries.FindString(kernel)
	if s.Family != "amzn" || series == "" || series == "6.1" {
		return "kernel"
	}
	return "kernel" + series
}

// kernelSeries is "6.12" of "6.12.20-23.97.amzn2023.x86_64".
var kernelSeries = lazyregexp.New(`^\d+\.\d+`)

// cudaRepositories is where NVIDIA's packages of the driver are, a directory for each distribution.
const cudaRepositories = "https://developer.download.nvidia.com/compute/cuda/repos/"

// directory is the distribution's in NVIDIA's repositories, "rhel9/x86_64".
func (s System) directory() string { return s.Family + s.major() + "/" + s.Arch }

func (s System) major() string {
	major, _, _ := strings.Cut(s.Release, ".")
	return major
}

// repository adds NVIDIA's repository of the driver to dnf's.
func (s System) repository() string {
	file := cudaRepositories + s.directory() + "/cuda-" + s.Family + s.major() + ".repo"
	if s.Family == "fedora" { // whose dnf is the fifth
		return s.AsRoot("dnf", "config-manager", "addrepo", "--from-repofile="+file)
	}
	return s.AsRoot("dnf", "config-manager", "--add-repo", file)
}

// Driver is a branch of NVIDIA's driver, with the kernel module that fits.
type Driver struct {
	Branch string // "580"
	Open   bool
}

// ubuntu is the branch's server package, which Ubuntu maintains for data centres (its server documentation,
// install-nvidia-drivers.md, read 2026-11-26).
func (d Driver) ubuntu() string {
	if d.Open {
		return "nvidia-driver-" + d.Branch + "-server-open"
	}
	return "nvidia-driver-" + d.Branch + "-server"
}

// nvidia is the package in NVIDIA's repositories.
func (d Driver) nvidia() string {
	if d.Open {
		return "nvidia-open"
	}
	return "cuda-drivers"
}

// stream is the branch's in NVIDIA's repositories for RHEL 8 and 9 and Amazon Linux 2023.
func (d Driver) stream() string {
	if d.Open {
		return "nvidia-driver:" + d.Branch + "-open"
	}
	return "nvidia-driver:" + d.Branch + "-dkms"
}

// Driver installs a driver, with the repository that has it and what its module is built with; empty where no package
// manager is known. Of NVIDIA's driver installation guide excerpts of the pages on kernel modules (620/kernel-modules.html:
// the streams, the locks and the packages of each distribution) and of version-locking.html were read on 2026-11-26. Its
// page for each distribution is named where its commands are, with what was read in its place where it was not opened.
func (s System) Driver(d Driver) string {
	major := s.major()
	switch {
	// Ubuntu's own archive has the driver, in the component restricted, which is on by default.
	case s.Family == "ubuntu":
		return s.Install(d.ubuntu())
	// debian.html, not opened; in a root of Debian 12 apt resolved the packages in a dry run, with stand-ins for curl and
	// dpkg (tools/lab/steps). A minimal system has no curl. What pins the branch is installed first: apt resolves the driver with the preferences that it finds.
	case s.Family == "debian":
		needs := []string{"curl", "ca-certificates"}
		if s.Kernel != "" {
			needs = append(needs, s.Headers(s.Kernel))
		}
		key := "cuda-keyring_1.1-1_all.deb"
		return All(s.Install(needs...), Command("curl", "-fsSLO", cudaRepositories+s.directory()+"/"+key),
			s.AsRoot("dpkg", "-i", key), s.Install("nvidia-driver-pinning-"+d.Branch), s.AsRoot("apt-get", "install", "-y", d.nvidia()))
	// amazon-linux.html, not opened: install-nvidia-driver.sh of awslabs/amazon-eks-ami. Its dkms is NVIDIA's.
	case s.Family == "amzn":
		return All(s.AsRoot(append([]string{"dnf", "install", "-y"}, s.amazonKernel()...)...), s.repository(), s.enableStream(d))
	// red-hat-enterprise-linux.html, not opened: installing_nvidia_gpu_drivers.md of Rocky Linux's documentation. dkms is
	// EPEL's.
	case s.Family == "rhel":
		needs := []string{"https://dl.fedoraproject.org/pub/epel/epel-release-latest-" + major + ".noarch.rpm", "kernel-headers"}
		if major == "8" {
			if s.Kernel != "" {
				needs = append(needs, s.Headers(s.Kernel))
			}
			return All(s.Install(needs...), s.repository(), s.enableStream(d))
		}
		needs = append(needs, "kernel-devel-matched")
		if major == "9" {
			return All(s.Install(needs...), s.repository(), s.enableStream(d))
		}
		needs = append(needs, "python3-dnf-plugin-versionlock")
		return All(s.Install(needs...), s.repository(), s.lockBranch(d))
	// fedora.html, not opened. dnf5-plugins has config-manager.
	case s.Family == "fedora":
		return All(s.Install("dnf5-plugins", "kernel-devel-matched", "kernel-headers"), s.repository(), s.lockBranch(d))
	}
	return ""
}

// toolkitRepository is where NVIDIA's toolkit for containers is; no distribution has it (the toolkit's install guide,
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html, an older copy of which was
// read on 2026-11-26).
const toolkitRepository = "https://nvidia.github.io/libnvidia-container/"

// ContainerToolkit installs NVIDIA's toolkit for containers, with its repository.
func (s System) ContainerToolkit() string {
	const name, keyring = "nvidia-container-toolkit", "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
	switch {
	case s.APT():
		key := Command("curl", "-fsSL", toolkitRepository+"gpgkey") + " | " + s.AsRoot("gpg", "--yes", "--dearmor", "-o", keyring)
		list := Command("curl", "-fsSL", toolkitRepository+"stable/deb/"+name+".list") + " | " +
			Command("sed", "s#deb https://#deb [signed-by="+keyring+"] https://#g") + " | " +
			s.AsRoot("tee", "/etc/apt/sources.list.d/"+name+".list")
		return All(s.Install("ca-certificates", "curl", "gnupg"), key, list, s.Install(name))
	case s.DNF():
		repository := Command("curl", "-fsSL", toolkitRepository+"stable/rpm/"+name+".repo") + " | " +
			s.AsRoot("tee", "/etc/yum.repos.d/"+name+".repo")
		return All(repository, s.Install(name))
	}
	return ""
}

// amazonKernel are the packages that a module is built with on Amazon Linux 2023.
func (s System) amazonKernel() []string {
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

// enableStream enables the branch's stream; RHEL 10 and Fedora have no streams, there a lock holds the branch.
func (s System) enableStream(d Driver) string {
	return All(s.AsRoot("dnf", "module", "reset", "-y", "nvidia-driver"), s.AsRoot("dnf", "module", "enable", "-y", d.stream()),
		s.Install(d.nvidia()))
}

func (s System) lockBranch(d Driver) string {
	return All(s.AsRoot("dnf", "versionlock", "add", "*nvidia*"+d.Branch+"*"), s.Install(d.nvidia()))
}

// AnyDriver are the commands for the two package managers that most systems have, where the system is not known: apt's,
// on Ubuntu, and dnf's, where NVIDIA's repository is set up.
func AnyDriver(d Driver) map[string]string {
	return map[string]string{
		"apt": System{Family: "ubuntu"}.Driver(d) + "  # Ubuntu",
		"dnf": System{Family: "rhel"}.enableStream(d) + "  # needs NVIDIA's repository (RHEL 8 and 9, Amazon Linux 2023)",
	}
}
