package driver

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// installerMarks are what puts NVIDIA's kernel module in place at boot, so that a tree at rest need not have it: the
// EKS AMIs' archive of built modules and the unit that unpacks one, their trees of whole drivers (since v20260917),
// Fedora's akmods, what Bottlerocket's driverdog links or copies, Flatcar's script that downloads one, a driver in a
// container.
var installerMarks = []struct{ kind, pattern string }{
	{"dkms-archive", "/var/lib/dkms-archive/nvidia*"},
	{"driver-tree", "/opt/nvidia/*/flavors/*"},
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

// fillTree adds the release of a flavour in an EKS driver tree, and what the tree brings with its modules:
// /opt/nvidia/lts/flavors/open. It returns false if the boot does not take the flavour: it has no module, or an earlier
// boot chose another one of the tree.
func fillTree(h *host.Host, one *facts.Installer) bool {
	tree := path.Dir(path.Dir(one.Path))
	chosen, _ := h.ReadLine(tree + "/.driver-flavor")
	if chosen != "" && chosen != path.Base(one.Path) || len(h.Glob(one.Path+"/lib/modules/*/extra/nvidia.ko*")) == 0 {
		return false
	}
	release, err := h.ReadLine(tree + "/.version")
	if err != nil || !driverRelease.MatchString(release) {
		return true // it is there, and its release is not known
	}
	one.Versions = []string{release}
	one.Brings = append(h.Glob(tree+"/usr/lib64/libcuda.so."+release), h.Glob(tree+"/usr/bin/nv-fabricmanager")...)
	return true
}

// driverRelease matches a driver's release, "580.95.05".
var driverRelease = lazyregexp.New(`^\d{3}(?:\.\d+){1,2}$`)

// openDevice matches a line of the list by which EKS's boot script takes the open modules of a branch:
// "0x27B8 NVIDIA L4".
var openDevice = lazyregexp.New(`(?m)^0x[0-9A-F]{4} (?:NVIDIA )?([\x20-\x7e]{1,80}?) *$`)

// openDevices returns the GPUs of such a list, each once.
func openDevices(text []byte) []string {
	var list []string
	for _, found := range openDevice.FindAllSubmatch(text, -1) {
		list = append(list, string(found[1]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// fillOpen adds the GPUs for which EKS's boot script takes open modules of a release.
func fillOpen(h *host.Host, one *facts.Installer) {
	if base := path.Base(one.Path); base != "open" && base != "nvidia-open" || len(one.Versions) != 1 {
		return
	}
	branch, _, _ := strings.Cut(one.Versions[0], ".")
	one.Supports = openDevices(h.ReadQuietly("/etc/eks/nvidia-open-supported-devices-" + branch + ".txt"))
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
			switch mark.kind {
			case "dkms-archive":
				one.Versions = archivedVersions(h.Glob(file + "/*.tar.gz"))
			case "driver-tree":
				if !fillTree(h, &one) {
					continue
				}
			}
			fillOpen(h, &one)
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.Installers = list }, nil
}
