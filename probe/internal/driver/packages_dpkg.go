package driver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// dpkgPackages reads which of NVIDIA's packages dpkg has installed.
func dpkgPackages(h *host.Host, failed *host.Errors) []facts.DriverPackage {
	const status = "/var/lib/dpkg/status"
	f, err := h.OpenText(status)
	if err != nil {
		failed.Add(err)
		return nil
	}
	defer f.Close()
	packages, err := parseDpkgStatus(f)
	if errors.Is(err, bufio.ErrTooLong) {
		err = host.Damaged(status, fmt.Sprintf("a package of more than %d MiB", maxStanza>>20))
	}
	failed.Add(err)
	for i := range packages {
		packages[i].From = status
	}
	return packages
}

// maxPackages bounds the interesting packages in one database. All flavours of the driver for a kernel are about 40.
const maxPackages = 2000

var errManyPackages = fmt.Errorf("more than %d packages of the driver's kind; the others were not read", maxPackages)

// maxStanza bounds one package's stanza, which usually has a few kilobytes.
const maxStanza = 1 << 20

// parseDpkgStatus parses the stanzas of installed packages. Removed packages leave stanzas that do not count:
//
//	Package: libnvidia-compute-535-server
//	Status: hold ok installed
//	Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
//	Version: 535.183.01-0ubuntu0.22.04.1
func parseDpkgStatus(r io.Reader) ([]facts.DriverPackage, error) {
	var list []facts.DriverPackage
	stanzas := bufio.NewScanner(r)
	stanzas.Buffer(make([]byte, 64<<10), maxStanza)
	stanzas.Split(splitStanza)
	for stanzas.Scan() {
		name, _, _ := bytes.Cut(stanzas.Bytes(), []byte("\n"))
		if !isInteresting(string(name)) {
			continue
		}
		p := parseStanza(stanzas.Text())
		switch {
		case p == nil:
		case len(list) == maxPackages:
			return list, errManyPackages
		default:
			list = append(list, *p)
		}
	}
	return list, stanzas.Err()
}

// splitStanza returns a bufio.SplitFunc that splits before each package's name. The first letter of "Package" is rare,
// unlike a line's end, so searching for it takes a fifth of the time.
func splitStanza(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], []byte("Package: "))
		if i < 0 {
			break
		}
		if at += i; bytes.HasSuffix(data[:at], []byte("\n\n")) {
			return at, data[:at-2], nil
		}
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parseStanza parses one stanza. It returns nil for a package that is not installed.
func parseStanza(stanza string) *facts.DriverPackage {
	first, _, _ := strings.Cut(stanza, "\n")
	name, ok := strings.CutPrefix(first, "Package: ")
	fields := map[string]string{}
	for line := range strings.Lines(stanza) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			fields[key] = value
		}
	}
	state, there := dpkgState(fields["Status"])
	if !ok || !there {
		return nil
	}
	version := fields["Version"]
	return &facts.DriverPackage{Name: name, Version: version, Held: strings.HasPrefix(fields["Status"], "hold "),
		Vendor: vendor(fields["Maintainer"], version), State: state}
}

// dpkgState parses the field Status, "install ok half-configured", of a package that is to be there. It returns the
// state of an installation that did not end, and whether the package's files are on disk.
func dpkgState(status string) (state string, there bool) {
	words := strings.Fields(status)
	if len(words) != 3 {
		return "", false
	}
	wanted := words[0] == "install" || words[0] == "hold"
	switch {
	case words[2] == "installed" && words[1] == "ok":
		return "", true
	case !wanted || words[2] == "not-installed" || words[2] == "config-files":
		return "", false
	case words[1] == "reinstreq":
		return "reinst-required", true
	case words[2] == "unpacked", words[2] == "half-configured", words[2] == "half-installed":
		return words[2], true
	}
	return "", strings.HasPrefix(words[2], "triggers-")
}

// vendor returns whose archive a package is from, by its maintainer and version. Packages of the graphics drivers PPA
// have Ubuntu's maintainer, and "~gpu22.04.1" or "~ppa1" in the version.
func vendor(maintainer, version string) string {
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
