package driver

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadPackages lists the packages of the driver and its libraries that dpkg and RPM installed, and what NVIDIA's .run
// installer leaves behind.
func ReadPackages(h *host.Host) (source.Update, error) {
	var failed host.Errors
	var packages []facts.DriverPackage
	var libraries []facts.Library
	engines := map[string]string{}
	for _, p := range append(dpkgPackages(h, &failed), rpmPackages(h, &failed)...) {
		if driverPackageName.MatchString(p.Name) {
			packages = append(packages, p)
		}
		if p.State != "" {
			continue // only the driver's packages matter while their installation has not ended
		}
		if engine := enginePackages[p.Name]; engine != "" {
			engines[engine] = p.Version
		}
		if version := libraryVersion.FindStringSubmatch(p.Version); version != nil &&
			libraryPackageName.MatchString(p.Name) {
			libraries = append(libraries, facts.Library{Name: p.Name, Version: version[1], Path: p.From})
		}
	}
	runfile := ""
	if h.Exists("/usr/bin/nvidia-uninstall") { // its own uninstaller goes when it is uninstalled; the log stays
		runfile = "/usr/bin/nvidia-uninstall"
	}
	if len(packages)+len(libraries)+len(engines)+len(failed) == 0 && runfile == "" {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) {
		f.Machine.Packages, f.Machine.Runfile = packages, runfile
		f.Libraries = libraries
		for i, r := range f.Runtimes.Found {
			f.Runtimes.Found[i].Version = engines[r.Name]
		}
		f.Runtimes.Podman = engines[podman]
		for _, p := range packages {
			if fabricPackage.MatchString(p.Name) {
				f.Machine.Fabric.Version, f.Machine.Fabric.From = p.Version, "package "+p.Name
			}
		}
	}, failed.Err()
}

// fabricPackage matches the package that contains the fabric manager. cuda-drivers-fabricmanager only depends on it.
var fabricPackage = lazyregexp.New(`^nvidia-fabric-?manager(-\d+)?$`)

// driverPackageName matches the packages that belong to one release of the driver, and its daemons. It does not match
// tools with releases of their own (nvidia-settings, nvidia-modprobe, the container toolkit) or repositories.
var driverPackageName = lazyregexp.New(`^(nvidia-driver(-(cuda|libs|bin|full))?(-\d.*)?|nvidia-headless-.*|` +
	`libnvidia-compute(-\d.*)?|libcuda1|libnvidia-ml1|` +
	`nvidia-utils-\d.*|nvidia-dkms-.*|nvidia-kernel-(open-)?dkms|nvidia-kernel-source-.*|nvidia-open(-\d.*)?|` +
	`cuda-drivers(-\d+)?|` +
	`(cuda-drivers-)?nvidia-fabric-?manager(-\d+)?|cuda-drivers-fabricmanager(-\d+)?|nvlsm|nvidia-grid.*|` +
	`nvidia-driver(-.*)?-(cuda|libs|cuda-libs|NVML|latest|latest-dkms)|kmod-nvidia-.*|akmod-nvidia|` +
	`nvidia-kmod-common|libnvidia-(ml|gpucomp)|` +
	`xorg-x11-drv-nvidia(-(cuda|libs|cuda-libs|kmodsrc))?|nvidia-imex(-\d+)?|libnvidia-nscq(-\d+)?)$`)

// enginePackages lists the packages of container engines: Docker's own, Debian's and Ubuntu's, Amazon's and
// Microsoft's.
var enginePackages = map[string]string{"docker-ce": "docker", "docker.io": "docker", "docker": "docker",
	"moby-engine": "docker", "containerd.io": "containerd", "containerd": "containerd",
	"podman": podman}

// podman is the only engine without a daemon.
const podman = "podman"

// libraryPackageName matches the packages of NCCL and cuDNN by Debian's names and by RPM's.
var libraryPackageName = lazyregexp.New(`^(libnccl2?|libcudnn[789]\S*)$`)

// libraryVersion matches "2.21.5" in "2.21.5-1+cuda12.4".
var libraryVersion = lazyregexp.New(`^(\d+(?:\.\d+)+)`)

// isInteresting reports whether a package may be one of those above; of thousands, few are.
func isInteresting(name string) bool {
	return slices.ContainsFunc([]string{"nvidia", "cuda", "nccl", "cudnn", "nvlsm", "docker", "containerd",
		"moby-engine", podman}, func(part string) bool {
		return strings.Contains(name, part)
	})
}
