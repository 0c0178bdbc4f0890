package python

import (
	"bytes"
	"maps"
	"strings"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Distributions are those that the interpreters of some environments find, by name. What they require is read when it
// is asked for: few of hundreds are.
type Distributions struct {
	h     *host.Host
	infos map[string]info
	eggs  map[string]bool // in an older form, whose release is not read
}

// DistributionsOf are those of the environments that envs names, and of what these see of other prefixes; the first on
// the import path counts.
func DistributionsOf(h *host.Host, envs []string) Distributions {
	d := Distributions{h, map[string]info{}, map[string]bool{}}
	var failed host.Errors
	for _, env := range envs {
		for _, p := range prefixesAt(h, namedPython(h, env).root, &failed) {
			for _, dir := range p.sites {
				d.add(dir)
			}
		}
	}
	return d
}

func (d Distributions) add(dir string) {
	entries, err := d.h.ReadDir(dir)
	if err != nil {
		return
	}
	found := map[string]info{}
	for _, i := range infosIn(d.h, dir, entries) {
		found[i.name] = i
	}
	maps.Copy(found, d.infos)
	maps.Copy(d.infos, found)
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.Name(), ".egg-info"); ok {
			name, _, _ := strings.Cut(stem, "-")
			d.eggs[distname.Normal(name)] = true
		}
	}
}

// Version is the release of a distribution, empty where it is not told; ok is false where it is not there.
func (d Distributions) Version(name string) (version string, ok bool) {
	i, ok := d.infos[name]
	return i.version, ok || d.eggs[name]
}

// requiresDist begins a requirement in METADATA.
var requiresDist = []byte("Requires-Dist: ")

// Requires are the requirements of a distribution as its METADATA has them.
func (d Distributions) Requires(name string) []string {
	i, ok := d.infos[name]
	if !ok {
		return nil
	}
	head := headerOf(d.h.ReadQuietly(i.path() + "/METADATA"))
	var list []string
	for line := range bytes.Lines(head) {
		if rest, ok := bytes.CutPrefix(line, requiresDist); ok {
			list = append(list, strings.TrimSpace(string(rest)))
		}
	}
	return list
}
