package change

import (
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/requirements"
)

// Installed are the distributions of an environment before a plan is carried out.
type Installed interface {
	Version(name string) (version string, ok bool)
	Requires(name string) []string
}

// maxLacks limits the reported requirements of one distribution. An engine without any lacks a hundred.
const maxLacks = 20

// Lacks returns the requirements that the plan leaves unmet: those of what comes, and those of the builds that stay,
// including what these require in turn. A resolver satisfies the requirements of what it installs, and not those of
// what stays. If told to ignore requirements, it satisfies none.
func (c *Change) Lacks(env facts.Environment, arch string, have Installed) []facts.Lack {
	var roots []string
	for _, b := range env.Builds {
		roots = append(roots, b.Name)
	}
	for _, p := range c.Plan.Installs {
		if !libraryWheel(p.Name) { // whose files are compared with what loads them
			roots = append(roots, p.Name)
		}
	}
	slices.Sort(roots)
	var list []facts.Lack
	for _, root := range slices.Compact(roots) {
		w := walk{Change: c, env: env, arch: arch, have: have, root: root, visited: map[string]bool{}}
		w.from(requirements.Requirement{Name: root})
		list = append(list, w.lacks...)
	}
	return list
}

// walk follows what one distribution requires, and what that requires.
type walk struct {
	*Change
	env     facts.Environment
	arch    string
	have    Installed
	root    string
	visited map[string]bool
	lacks   []facts.Lack
}

func (w *walk) add(by, requires, have string) {
	if len(w.lacks) < maxLacks {
		w.lacks = append(w.lacks, facts.Lack{Of: w.root, By: by, Requires: requires, Have: have})
	}
}

// from looks at what one distribution requires with the extras that are asked of it.
func (w *walk) from(r requirements.Requirement) {
	lines, known := w.requirements(r.Name)
	if !known {
		w.add(r.Name, "", "")
	}
	for _, line := range lines {
		if len(w.lacks) == maxLacks {
			return
		}
		next, ok := requirements.ParseRequirement(line)
		if !ok || !next.Applies(w.env, w.arch, r.Extras) {
			continue
		}
		w.look(r.Name, next)
		if key := next.Name + "[" + slicesKey(next.Extras) + "]"; !w.visited[key] {
			w.visited[key] = true
			w.from(next)
		}
	}
}

func slicesKey(list []string) string {
	key := ""
	for _, one := range list {
		key += one + ","
	}
	return key
}

// requirements returns the requirements of a distribution after the plan. known is false if nobody knows them. A
// resolver has satisfied those of what it installs, so these need no check.
func (w *walk) requirements(name string) (lines []string, known bool) {
	i := slices.IndexFunc(w.Plan.Installs, func(p facts.Planned) bool { return p.Name == name })
	switch {
	case i < 0 && !w.goes(name):
		return w.have.Requires(name), true
	case i < 0:
		return nil, true
	case w.Plan.Installs[i].Requires != nil:
		return w.Plan.Installs[i].Requires, true
	}
	if old, there := w.have.Version(name); there && old == w.Plan.Installs[i].Version {
		return w.have.Requires(name), true // the same release again
	}
	return nil, w.Plan.NoDeps == "" || libraryWheel(name)
}

// look compares one requirement with what is there after the plan. For something that is removed, or that replaces a
// framework or library under what stays, the binaries and the tables decide (kept). Compiled modules import NumPy
// through its C interface, which no source shows: onnxruntime-gpu 1.22.0 does.
func (w *walk) look(by string, r requirements.Requirement) {
	coming, comes := w.Plan.Installed(r.Name)
	release, there := w.have.Version(r.Name)
	told := !w.comes(by) && (libraryWheel(r.Name) || by == w.root && r.Name != "numpy" && distname.Companions.Match(r.Name))
	moves := comes || w.goes(r.Name)
	switch {
	case told, !moves && !w.comes(by): // as it is now
	case !comes && !w.comes(by) && w.seen[w.root] && r.Name != "numpy": // whether it can do without was read in its sources
	case comes && !r.Accepts(coming):
		w.add(by, r.String(), coming)
	case comes:
	case !there || w.goes(r.Name):
		w.add(by, r.String(), "")
	case !r.Accepts(release):
		w.add(by, r.String(), release)
	}
}
