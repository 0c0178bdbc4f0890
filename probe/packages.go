package probe

import (
	"bytes"
	"regexp"
	"strings"
)

// readDriverPackages lists the driver's packages by dpkg's status file, and what NVIDIA's .run installer leaves
// behind. RPM keeps a database that is not read: there, only the files speak.
func readDriverPackages(h *Host, _ Options) (found, error) {
	data, err := h.ReadFile("/var/lib/dpkg/status")
	if err != nil && !absent(err) {
		return nil, err
	}
	packages := parseDpkgStatus(data)
	runfile := ""
	if h.Exists("/usr/bin/nvidia-uninstall") { // its own uninstaller goes when it is uninstalled; the log stays
		runfile = "/usr/bin/nvidia-uninstall"
	}
	if len(packages) == 0 && runfile == "" {
		return nil, errAbsent
	}
	return func(f *Facts) {
		f.Machine.Packages, f.Machine.Runfile = packages, runfile
		for _, p := range packages {
			if fabricPackage.MatchString(p.Name) {
				f.Machine.Fabric.Version, f.Machine.Fabric.From = p.Version, "package "+p.Name
			}
		}
	}, nil
}

// fabricPackage owns the fabric manager; cuda-drivers-fabricmanager only asks for it.
var fabricPackage = regexp.MustCompile(`^nvidia-fabric-?manager(-\d+)?$`)

// driverPackageName are the packages that belong to one release of the driver, and the two daemons beside it. Tools
// with a life of their own (nvidia-settings, nvidia-modprobe, the container toolkit) and repositories are none.
var driverPackageName = regexp.MustCompile(`^(nvidia-driver(-(cuda|libs|bin|full))?(-\d.*)?|nvidia-headless-.*|libnvidia-compute(-\d.*)?|libcuda1|libnvidia-ml1|` +
	`nvidia-utils-\d.*|nvidia-dkms-.*|nvidia-kernel-(open-)?dkms|nvidia-kernel-source-.*|nvidia-open(-\d.*)?|cuda-drivers(-\d+)?|` +
	`(cuda-drivers-)?nvidia-fabric-?manager(-\d+)?|cuda-drivers-fabricmanager(-\d+)?|nvlsm|nvidia-grid.*)$`)

// parseDpkgStatus reads the stanzas of packages that are installed:
//
//	Package: libnvidia-compute-535-server
//	Status: hold ok installed
//	Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
//	Version: 535.183.01-0ubuntu0.22.04.1
func parseDpkgStatus(data []byte) []DriverPackage {
	var list []DriverPackage
	for len(data) > 0 {
		var stanza []byte
		stanza, data, _ = bytes.Cut(data, []byte("\n\n"))
		name, _, _ := bytes.Cut(stanza, []byte("\n"))
		if !bytes.Contains(name, []byte("nvidia")) && !bytes.Contains(name, []byte("cuda")) && !bytes.Contains(name, []byte("nvlsm")) {
			continue // of thousands, nearly all
		}
		if p := driverPackage(string(stanza)); p != nil {
			list = append(list, *p)
		}
	}
	return list
}

// driverPackage reads one stanza; nil is a package of something else, or one that is not installed.
func driverPackage(stanza string) *DriverPackage {
	first, _, _ := strings.Cut(stanza, "\n")
	name, ok := strings.CutPrefix(first, "Package: ")
	if !ok || !driverPackageName.MatchString(name) {
		return nil
	}
	fields := map[string]string{}
	for line := range strings.Lines(stanza) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			fields[key] = value
		}
	}
	if !strings.HasSuffix(fields["Status"], " ok installed") {
		return nil
	}
	version := fields["Version"]
	return &DriverPackage{Name: name, Version: version, Held: strings.HasPrefix(fields["Status"], "hold "), Vendor: vendorOf(fields["Maintainer"], version)}
}

// vendorOf tells whose archive a package is of by its maintainer and version. The PPA for graphics drivers has
// Ubuntu's maintainer and "~gpu22.04.1" or "~ppa1" in the version.
func vendorOf(maintainer, version string) string {
	switch {
	case strings.Contains(maintainer, "nvidia.com"):
		return "nvidia"
	case strings.Contains(version, "~gpu") || strings.Contains(version, "~ppa"):
		return "ppa"
	case strings.Contains(maintainer, "ubuntu.com"):
		return "ubuntu"
	case strings.Contains(maintainer, "debian.org"):
		return "debian"
	}
	return ""
}
