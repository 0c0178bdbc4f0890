package probe

import (
	"bytes"
	"strings"

	"cudacompat/probe/host"
)

// dpkgPackages reads what dpkg has installed of NVIDIA's.
func dpkgPackages(h *Host, failed *host.Errors) []DriverPackage {
	const status = "/var/lib/dpkg/status"
	data, err := h.ReadFile(status)
	failed.Add(err)
	packages := parseDpkgStatus(data)
	for i := range packages {
		packages[i].From = status
	}
	return packages
}

// parseDpkgStatus reads the stanzas of packages that are installed. Removed ones leave stanzas that do not count:
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
		if !interesting(string(name)) {
			continue
		}
		if p := parseStanza(string(stanza)); p != nil {
			list = append(list, *p)
		}
	}
	return list
}

// parseStanza reads one stanza; nil is a package that is not installed.
func parseStanza(stanza string) *DriverPackage {
	first, _, _ := strings.Cut(stanza, "\n")
	name, ok := strings.CutPrefix(first, "Package: ")
	fields := map[string]string{}
	for line := range strings.Lines(stanza) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			fields[key] = value
		}
	}
	if !ok || !strings.HasSuffix(fields["Status"], " ok installed") {
		return nil
	}
	version := fields["Version"]
	return &DriverPackage{Name: name, Version: version, Held: strings.HasPrefix(fields["Status"], "hold "),
		Vendor: vendorOf(fields["Maintainer"], version)}
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
