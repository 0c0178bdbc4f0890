package pyenv

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pydist"
)

// Owned are the distributions of some names in an environment, and their files.
type Owned struct {
	Versions map[string]string // by name
	Files    map[string]string // the distribution that each is of, by its resolved path; some are not there
}

// OwnedBy are those of the environments that envs names. What their interpreters see of other prefixes, as a venv the
// system's packages, no installer changes.
func OwnedBy(h *host.Host, envs []string, wanted func(name string) bool) Owned {
	o := Owned{Versions: map[string]string{}, Files: map[string]string{}}
	var failed host.Errors
	for _, env := range envs {
		for _, p := range PrefixesAt(h, NamedPython(h, env).Root, &failed) {
			sites := p.Sites
			if p.base > 0 {
				sites = sites[:p.base]
			}
			for _, dir := range sites {
				o.site(h, dir, wanted)
			}
			if p.Kind == "conda" {
				o.conda(h, p.Path, wanted)
			}
		}
	}
	return o
}

// site adds the distributions of one directory.
func (o Owned) site(h *host.Host, dir string, wanted func(string) bool) {
	entries, err := h.ReadDir(dir)
	if err != nil {
		return
	}
	for _, i := range pydist.InfosIn(h, dir, entries) {
		if !wanted(i.Name) {
			continue
		}
		o.Versions[i.Name] = i.Version
		o.Files[i.Path()] = i.Name
		for line := range bytes.Lines(h.ReadQuietly(i.Path() + "/RECORD")) {
			if name := pydist.RecordedName(line); name != "" {
				o.Files[path.Join(dir, name)] = i.Name
			}
		}
	}
}

// conda adds the packages of conda's own list.
func (o Owned) conda(h *host.Host, root string, wanted func(string) bool) {
	for _, file := range h.GlobIn(root, "conda-meta/*.json") {
		var record struct {
			Name  string   `json:"name"`
			Files []string `json:"files"`
		}
		if json.Unmarshal(h.ReadQuietly(file), &record) != nil || !wanted(distname.OfConda(record.Name)) {
			continue
		}
		name := distname.OfConda(record.Name)
		o.Files[file] = name
		for _, one := range record.Files {
			o.Files[path.Join(root, one)] = name
		}
	}
}

// RangesOf are the requirements of one distribution, by name, with the range that each accepts; those with an extra or
// a marker are left out.
func RangesOf(h *host.Host, envs []string, name string) map[string]string {
	ranges := map[string]string{}
	for info, of := range OwnedBy(h, envs, func(n string) bool { return n == name }).Files {
		if of != name || !strings.HasSuffix(info, ".dist-info") {
			continue
		}
		head := pydist.HeaderOf(h.ReadQuietly(info + "/METADATA"))
		for _, m := range pydist.RangedRequirement.FindAllSubmatch(head, -1) {
			ranges[distname.Normal(string(m[1]))] = strings.TrimSpace(string(m[2]))
		}
	}
	return ranges
}
