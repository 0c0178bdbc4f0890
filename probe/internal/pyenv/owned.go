package pyenv

import (
	"encoding/json"
	"path"
	"strings"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pydist"
)

// Owned holds the distributions of some names in an environment, and their files.
type Owned struct {
	Versions map[string]string // by name
	Files    map[string]string // the distribution that each is of, by its resolved path; some are not there
}

// OwnedBy returns the distributions of the environments in envs. It omits what their interpreters see of other
// prefixes, such as the system's packages in a venv, because no installer changes those.
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
	list, err := pydist.NewIndex(h, []string{dir}).In(dir)
	if err != nil {
		return
	}
	for _, d := range list {
		if d.Egg || !wanted(d.Name) {
			continue
		}
		o.Versions[d.Name] = d.Version
		o.Files[d.Path] = d.Name
		for f := range d.Record().Files() {
			o.Files[path.Join(dir, f.Name)] = d.Name
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
		if json.Unmarshal(h.ReadQuietly(file), &record) != nil || !wanted(distname.PipName(record.Name)) {
			continue
		}
		name := distname.PipName(record.Name)
		o.Files[file] = name
		for _, one := range record.Files {
			o.Files[path.Join(root, one)] = name
		}
	}
}

// RangesOf returns the requirements of one distribution, by name, with the range that each accepts; those with an extra or
// a marker are left out.
func RangesOf(h *host.Host, envs []string, name string) map[string]string {
	ranges := map[string]string{}
	for info, of := range OwnedBy(h, envs, func(n string) bool { return n == name }).Files {
		if of != name || !strings.HasSuffix(info, ".dist-info") {
			continue
		}
		for _, r := range pydist.NewIndex(h, nil).At(info).Requires() {
			if accepted := r.Plain(); accepted != "" {
				ranges[r.Name] = accepted
			}
		}
	}
	return ranges
}
