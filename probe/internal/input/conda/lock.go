package conda

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

var condaLockPackage = lazyregexp.New(`(?m)^package:\n- name: .*\n(?:  \S.*\n)*?  manager: (?:conda|pip)$`)

func IsLock(d document.Document) bool { return condaLockPackage.Match(d.Data) }

// ReadLock reads the lock of conda-lock, line by line, as that program writes it; the whole has megabytes:
//
//	package:
//	- name: pytorch
//	  version: 2.5.1
//	  manager: conda
//	  platform: linux-64
//	  url: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312_h1763f6d_306.conda
func ReadLock(d document.Document) (facts.Facts, error) {
	return request.Facts("conda-lock.yml", ParseLock(d.Data).Resolved(), nil), nil
}

func ParseLock(data []byte) *List {
	_, packages, _ := strings.Cut(string(data), "\npackage:\n")
	platforms := map[string]*List{"linux-64": {}, "linux-aarch64": {}}
	var manager, platform string
	for line := range strings.Lines(packages) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		c := platforms[platform]
		switch {
		case strings.HasPrefix(line, "- "):
			manager, platform = "", ""
		case !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "   "): // a package's dependencies
		case name == "manager":
			manager = value
		case name == "platform":
			platform = value
		case name != "url" || c == nil:
		case manager == "pip":
			c.Wheel(value)
		default:
			c.Address(value)
		}
	}
	c := platforms["linux-64"]
	if len(c.Packages) == 0 {
		c = platforms["linux-aarch64"]
	}
	return c
}
