package driver

import (
	"path"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// installerMarks are what puts NVIDIA's kernel module in place at boot, so that a tree at rest need not have it: the
// EKS AMIs' archive of built modules and the unit that unpacks one, Fedora's akmods, what Bottlerocket's driverdog
// links or copies, Flatcar's script that downloads one, a driver in a container.
var installerMarks = []struct{ kind, pattern string }{
	{"dkms-archive", "/var/lib/dkms-archive/nvidia*"},
	{"kmod-load", "/etc/systemd/system/*nvidia*kmod-load*.service"},
	{"kmod-load", "/usr/lib/systemd/system/*nvidia*kmod-load*.service"},
	{"kmod-load", "/lib/systemd/system/*nvidia*kmod-load*.service"},
	{"akmods", "/usr/src/akmods/nvidia*"},
	{"driverdog", "/usr/share/nvidia/*/module-objects.d"},
	{"driverdog", "/usr/share/nvidia/*/drivers/nvidia.ko"},
	{"flatcar", "/usr/lib/nvidia/bin/setup-nvidia"},
	{"driver-container", "/run/nvidia/driver/usr"},
}

// archivedName matches the name of an archive of built modules: "nvidia-open-580.95.05-kernel6.1.134-x86_64.dkms.tar.gz".
var archivedName = lazyregexp.New(`^nvidia(?:-[a-z]+)*-(\d{3}(?:\.\d+){1,2})-`)

// archivedVersions returns the driver's releases in the names of archives, each once.
func archivedVersions(files []string) []string {
	var list []string
	for _, file := range files {
		if found := archivedName.FindStringSubmatch(path.Base(file)); found != nil && !slices.Contains(list, found[1]) {
			list = append(list, found[1])
		}
	}
	return list
}

// ReadInstallers finds what installs the driver's kernel module at boot.
func ReadInstallers(h *host.Host) (source.Update, error) {
	var list []facts.Installer
	for _, mark := range installerMarks {
		for _, file := range h.Glob(mark.pattern) {
			if isMasked(h, path.Base(file)) {
				continue
			}
			one := facts.Installer{Kind: mark.kind, Path: file}
			if mark.kind == "dkms-archive" {
				one.Versions = archivedVersions(h.Glob(file + "/*.tar.gz"))
			}
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.Installers = list }, nil
}
