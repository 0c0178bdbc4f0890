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

// Plan is what an installer's dry run says that it would do; Given reads it. Package facts describes its fields.
type (
	Plan    = facts.Plan
	Planned = facts.Planned
)

// After foretells facts: what Run with these options would find once an installer has done what a plan says. before is
// what it finds now; plan is what Given read of the installer's dry run. The environments that the options name change,
// and nothing else does. Files that the plan removes are taken out of a second look at the environment; what it installs
// is known by its names and releases alone, and the files of another release of it are read in their place where these are
// modules that serve others.
func After(ctx context.Context, h *Host, opt Options, before, plan Facts) Facts {
	after := before
	if plan.Plan == nil {
		return after
	}
	moves := map[string]bool{}
	for _, p := range slices.Concat(plan.Plan.Installs, plan.Plan.Removes) {
		moves[p.Name] = true
	}
	owned := pyenv.OwnedBy(h, opt.Envs, func(name string) bool { return moves[name] })
	complete := withReplaced(*plan.Plan, owned)
	after.Plan = &complete
	c := change.Change{Plan: complete, Files: owned.Files,
		Ranges: func(name string) map[string]string { return pyenv.RangesOf(h, opt.Envs, name) }}
	left := before.Environments
	if gone := leaving(h, &c, before.Environments); len(gone) > 0 {
		found := runOf(ctx, h.Without(gone), opt, pythonAlone)
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
		c.Coming = request.Coming(plan, jaxBeside(env, complete))
		then := c.Apply(env, sameIn(left, env))
		after.Environments = append(after.Environments, then)
		complete.Lacks = append(complete.Lacks, c.Lacks(then, before.System.Arch, have)...)
	}
	after.Complete()
	return after
}

// withReplaced is a plan with what its installer does not say: pip names what it installs, and not what that replaces.
func withReplaced(p Plan, owned pyenv.Owned) Plan {
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

// leaving are the files that a plan removes for good, and those that it writes anew, but where the old ones stand in for
// these.
func leaving(h *Host, c *change.Change, envs []facts.Environment) map[string]bool {
	gone := map[string]bool{}
	for file, name := range c.Files {
		if _, goes := c.Plan.Removed(name); goes && !c.StandsIn(name, envs) {
			gone[file] = true
		}
	}
	addEmptyDirectories(h, gone)
	return gone
}

// addEmptyDirectories adds the directories in which nothing is left: an installer removes them, too, and an empty "torch" would be a
// module of that name.
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

// pythonAlone is the one source that a plan changes.
var pythonAlone = []reader{{name: "python", read: readPython}}

// newUnread are the places that only the second look could not read.
func newUnread(before, now []facts.Unread) []facts.Unread {
	return slices.DeleteFunc(slices.Clone(now), func(u facts.Unread) bool { return slices.Contains(before, u) })
}

// sameIn is an environment in another look; one that holds nothing any more is as empty as that.
func sameIn(list []facts.Environment, env facts.Environment) facts.Environment {
	i := slices.IndexFunc(list, func(e facts.Environment) bool { return e.Path == env.Path && e.Python == env.Python })
	if i < 0 {
		env.Builds, env.Packages, env.Assemblers = nil, nil, nil
		return env
	}
	return list[i]
}

// jaxBeside are the parts of a JAX that stay where others of them move: one alone says nothing.
func jaxBeside(env facts.Environment, p Plan) []facts.Package {
	return slices.DeleteFunc(slices.Clone(env.Packages), func(pkg facts.Package) bool {
		_, goes := p.Removed(pkg.Name)
		_, comes := p.Installed(pkg.Name)
		return goes || comes || !request.JAXPart(pkg.Name)
	})
}
