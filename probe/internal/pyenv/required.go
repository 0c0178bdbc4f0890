package pyenv

import (
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
)

// Distributions are those that the interpreters of some environments find, by name. What they require is read when it
// is asked for: few of hundreds are.
type Distributions struct{ index *pydist.Index }

// DistributionsOf returns the distributions of the environments in envs, and of what they see of other prefixes. The
// first on the import path counts.
func DistributionsOf(h *host.Host, envs []string) Distributions {
	var path []string
	var failed host.Errors
	for _, env := range envs {
		for _, p := range PrefixesAt(h, NamedPython(h, env).Root, &failed) {
			path = append(path, p.Sites...)
		}
	}
	return Distributions{pydist.NewIndex(h, path)}
}

// Version returns the release of a distribution, or "" if unknown. ok is false if it is not installed.
func (d Distributions) Version(name string) (version string, ok bool) {
	if one := d.index.Find(name); one != nil {
		return one.Version, true
	}
	return "", d.index.HasEgg(name)
}

// Requires returns the requirements of a distribution as its METADATA has them.
func (d Distributions) Requires(name string) []string {
	one := d.index.Find(name)
	if one == nil {
		return nil
	}
	var list []string
	for _, r := range one.Requires() {
		list = append(list, r.Text)
	}
	return list
}
