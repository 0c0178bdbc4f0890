package pyenv

import (
	"bytes"
	"maps"
	"strings"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/pydist"
)

// Distributions are those that the interpreters of some environments find, by name. What they require is read when it
// is asked for: few of hundreds are.
type Distributions struct {
	h     *host.Host
	infos map[string]pydist.Info
	eggs  map[string]bool // in an older form, whose release is not read
}

// DistributionsOf are those of the environments that envs names, and of what these see of other prefixes; the first on
// the import path counts.
func DistributionsOf(h *host.Host, envs []string) Distributions {
	d := Distributions{h, map[string]pydist.Info{}, map[string]bool{}}
	var failed host.Errors
	for _, env := range envs {
		for _, p := range PrefixesAt(h, NamedPython(h, env).Root, &failed) {
			for _, dir := range p.Sites {
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
	found := map[string]pydist.Info{}
	for _, i := range pydist.InfosIn(d.h, dir, entries) {
		found[i.Name] = i
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
	return i.Version, ok || d.eggs[name]
}

// Requires are the requirements of a distribution as its METADATA has them.
func (d Distributions) Requires(name string) []string {
	i, ok := d.infos[name]
	if !ok {
		return nil
	}
	head := pydist.HeaderOf(d.h.ReadQuietly(i.Path() + "/METADATA"))
	var list []string
	for line := range bytes.Lines(head) {
		if rest, ok := bytes.CutPrefix(line, pydist.RequiresDist); ok {
			list = append(list, strings.TrimSpace(string(rest)))
		}
	}
	return list
}
