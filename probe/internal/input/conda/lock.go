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
	var one lockEntry
	for line := range strings.Lines(packages) {
		key, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "- ")), ": ")
		if strings.HasPrefix(line, "- ") {
			one.addTo(platforms[one.platform])
			one = lockEntry{}
		} else if !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "   ") { // a package's dependencies
			continue
		}
		for name, field := range map[string]*string{"name": &one.name, "version": &one.version, "manager": &one.manager,
			"platform": &one.platform, "url": &one.url} {
			if name == key {
				*field = strings.Trim(value, `"'`)
			}
		}
	}
	one.addTo(platforms[one.platform])
	c := platforms["linux-64"]
	if len(c.Packages) == 0 {
		c = platforms["linux-aarch64"]
	}
	return c
}

// lockEntry is one package of conda-lock's.
type lockEntry struct{ name, version, manager, platform, url string }

// addTo adds the package that the address names. An address of another form, a repository for example, says nothing of the
// build: the entry's own version does, if it has a local one.
func (e lockEntry) addTo(c *List) {
	switch {
	case c == nil || e.name == "":
	case e.manager != "pip":
		if !c.Address(e.url) {
			c.add(e.name, e.version, "", "")
		}
	case !c.Wheel(e.url):
		p := request.New(e.name, e.version, "", nil)
		if !strings.Contains(e.version, "+") {
			p.Version, p.Index, p.Specifier = "", "", "(from an address)"
		}
		c.Packages = append(c.Packages, p)
	}
}
