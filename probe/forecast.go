package probe

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/change"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/pyenv"
)

// Plan describes what an installer's dry run would do, and Planned one package of it. Given parses them; package facts
// describes their fields.
type (
	Plan    = facts.Plan
	Planned = facts.Planned
)

// Forecast predicts facts: what Run with these options would find after an installer has carried out a plan. before is
// what Run finds now; plan is what Given parsed from the dry run. Only the environments that the options name change.
// Forecast reads them again without the files that the plan removes. Of the packages that the plan installs it knows
// names and releases. If the files of another release can represent modules that other packages import, it reads those.
func Forecast(ctx context.Context, h *Host, opt Options, before, plan Facts) Facts {
	after := before
	if plan.Plan == nil {
		return after
	}
	moves := map[string]bool{}
	for _, p := range slices.Concat(plan.Plan.Installs, plan.Plan.Removes) {
		moves[p.Name] = true
	}
	owned := pyenv.OwnedBy(h, opt.Envs, func(name string) bool { return moves[name] })
	complete := completePlan(*plan.Plan, owned)
	after.Plan = &complete
	c := change.Change{Plan: complete, Files: owned.Files,
		Ranges: func(name string) map[string]string { return pyenv.RangesOf(h, opt.Envs, name) }}
	left := before.Environments
	if gone := removedFiles(h, &c, before.Environments); len(gone) > 0 {
		found := runReaders(ctx, h.Omit(gone), opt, pythonReader)
		if !slices.ContainsFunc(found.Probes, func(s facts.Status) bool { return s.Status == "failed" }) {
			left = found.Environments // what was cut short is said, and shows nothing as gone
		}
		after.Unread = append(slices.Clone(before.Unread), newUnread(before.Unread, found.Unread)...)
	}
	envs := before.Environments
	if len(envs) == 0 { // the installer makes it
		env := facts.Environment{Kind: "venv", Named: true}
		if len(opt.Envs) > 0 {
			env.Path = opt.Envs[0]
		}
		envs, left = []facts.Environment{env}, []facts.Environment{env}
	}
	after.Environments = nil
	have := pyenv.DistributionsOf(h, opt.Envs)
	for _, env := range envs {
		c.Coming = request.Coming(plan, remainingJAX(env, complete))
		then := c.Apply(env, findEnvironment(left, env))
		after.Environments = append(after.Environments, then)
		complete.Lacks = append(complete.Lacks, c.Lacks(then, before.System.Arch, have)...)
	}
	after.Complete()
	return after
}

// completePlan adds to a plan the releases that it replaces, because pip names only what it installs.
func completePlan(p Plan, owned pyenv.Owned) Plan {
	for _, i := range p.Installs {
		if have, there := owned.Versions[i.Name]; there {
			if _, said := p.Removed(i.Name); !said {
				p.Removes = append(slices.Clone(p.Removes), Planned{Name: i.Name, Version: have})
			}
		}
	}
	removes := []Planned{}
	for _, r := range p.Removes {
		have, there := owned.Versions[r.Name]
		if r.Version = cmp.Or(r.Version, have); r.Version != "" || there { // a command can name what is not there
			removes = append(removes, r)
		}
	}
	p.Removes = removes
	return p
}

// removedFiles returns the files that a plan removes or rewrites. It omits old files that can represent the new ones.
func removedFiles(h *Host, c *change.Change, envs []facts.Environment) map[string]bool {
	gone := map[string]bool{}
	for file, name := range c.Files {
		if _, goes := c.Plan.Removed(name); goes && !c.StandsIn(name, envs) {
			gone[file] = true
		}
	}
	addEmptyDirectories(h, gone)
	return gone
}

// addEmptyDirectories adds the directories that the removal leaves empty. Installers delete them too, and an empty
// directory "torch" would be importable as a namespace package.
func addEmptyDirectories(h *Host, gone map[string]bool) {
	dirs := map[string]bool{}
	for file := range gone {
		for dir := path.Dir(file); len(dir) > 1 && !dirs[dir] && path.Base(dir) != "site-packages"; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	deepest := slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return len(b) - len(a) })
	for _, dir := range deepest {
		entries, err := h.ReadDir(dir)
		left := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() != "__pycache__" && !gone[path.Join(dir, e.Name())]
		})
		if err == nil && !left {
			gone[dir] = true
		}
	}
}

// pythonReader is the only source that a plan changes.
var pythonReader = []reader{{name: "python", read: readPython}}

// newUnread returns the places that only the second look could not read.
func newUnread(before, now []facts.Unread) []facts.Unread {
	return slices.DeleteFunc(slices.Clone(now), func(u facts.Unread) bool { return slices.Contains(before, u) })
}

// findEnvironment returns the environment in list with the path and Python of env. If there is none, everything in it
// was removed, and findEnvironment returns env without packages.
func findEnvironment(list []facts.Environment, env facts.Environment) facts.Environment {
	i := slices.IndexFunc(list, func(e facts.Environment) bool { return e.Path == env.Path && e.Python == env.Python })
	if i < 0 {
		env.Builds, env.Packages, env.Assemblers = nil, nil, nil
		return env
	}
	return list[i]
}

// remainingJAX returns the parts of a JAX installation that stay while the plan changes others. One part alone does not
// show which CUDA JAX uses.
func remainingJAX(env facts.Environment, p Plan) []facts.Package {
	return slices.DeleteFunc(slices.Clone(env.Packages), func(pkg facts.Package) bool {
		_, goes := p.Removed(pkg.Name)
		_, comes := p.Installed(pkg.Name)
		return goes || comes || !request.JAXPart(pkg.Name)
	})
}
