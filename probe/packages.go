package probe

import (
	"bufio"
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
	return func(f *Facts) { f.Machine.Packages, f.Machine.Runfile = packages, runfile }, nil
}

// driverPackageName are the packages that belong to one release of the driver, and the two daemons beside it. Tools
// with a life of their own (nvidia-settings, nvidia-modprobe, the container toolkit) and repositories are none.
var driverPackageName = regexp.MustCompile(`^(nvidia-driver(-(cuda|libs|bin|full))?(-\d.*)?|nvidia-headless-.*|libnvidia-compute(-\d.*)?|libcuda1|libnvidia-ml1|` +
	`nvidia-utils-\d.*|nvidia-dkms-.*|nvidia-kernel-(open-)?dkms|nvidia-kernel-source-.*|nvidia-open(-\d.*)?|cuda-drivers(-\d+)?|` +
	`(cuda-drivers-)?nvidia-fabric-?manager(-\d+)?|cuda-drivers-fabricmanager(-\d+)?|nvlsm|nvidia-grid.*|unattended-upgrades)$`)

// parseDpkgStatus reads the stanzas of packages that are installed:
//
//	Package: libnvidia-compute-535-server
//	Status: hold ok installed
//	Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
//	Version: 535.183.01-0ubuntu0.22.04.1
func parseDpkgStatus(data []byte) []DriverPackage {
	var list []DriverPackage
	var p DriverPackage
	var status string
	end := func() {
		if driverPackageName.MatchString(p.Name) && strings.HasSuffix(status, " ok installed") {
			p.Held = strings.HasPrefix(status, "hold ")
			p.Vendor = vendorOf(p.Vendor, p.Version)
			list = append(list, p)
		}
		p, status = DriverPackage{}, ""
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "":
			end()
		case "Package":
			p.Name = value
		case "Status":
			status = value
		case "Maintainer":
			p.Vendor = value
		case "Version":
			p.Version = value
		}
	}
	end()
	return list
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
