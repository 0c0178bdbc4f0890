// Package change predicts an environment: what it contains after an installer has done what its dry run says.
//
// What stays keeps what was read of it. What comes does not exist yet, so only its name and release are known, as from
// a file. If the files of a build that stays depend on something that is replaced, nobody has seen whether they still
// fit. Such a build is marked open (Build.Open), and only the tables may know.
package change

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// Change is one plan on its way into one environment.
type Change struct {
	Plan   facts.Plan
	Coming facts.Environment // what the plan installs, as a file would make it
	Files  map[string]string // the distribution of each file that goes, by its path
	Ranges func(info string) map[string]string
	seen   map[string]bool // the builds of Apply's environment that are as they were read without what goes
}

// Apply returns the environment after the plan. before is the environment as read, and left is how it reads without
// what the plan removes.
func (c *Change) Apply(before, left facts.Environment) facts.Environment {
	after := left
	c.seen = map[string]bool{}
	after.Named, after.Active = before.Named, before.Active
	after.Packages, after.Shared = c.packages(left.Packages), nil // nobody has compared what comes
	after.Builds, after.Assemblers = nil, left.Assemblers
	for _, b := range left.Builds {
		if !c.comes(b.Name) && !(request.JAXPart(b.Name) && c.movesJAX()) { // alone, a plugin reads as a build without its jax
			after.Builds = append(after.Builds, c.keptBuild(buildNamed(before.Builds, b.Name), b))
		}
	}
	for _, b := range before.Builds { // what was there only beside what goes, and is rebuilt from names
		if buildNamed(left.Builds, b.Name) == nil && !c.goes(b.Name) && b.Name != "jax" {
			if k := c.keptBuild(&b, facts.Build{}); k.Name != "" {
				after.Builds = append(after.Builds, k)
			}
		}
	}
	after.Builds = append(after.Builds, c.Coming.Builds...)
	after.Requested = c.Coming.Requested
	if before.Python == "" {
		after.Python = c.Coming.Python
	}
	return after
}

// buildNamed returns the build of that name, or nil.
func buildNamed(builds []facts.Build, name string) *facts.Build {
	i := slices.IndexFunc(builds, func(b facts.Build) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &builds[i]
}

// comes reports whether the plan installs a distribution. goes reports whether it removes the installed one.
func (c *Change) comes(name string) bool { _, ok := c.Plan.Installed(name); return ok }
func (c *Change) goes(name string) bool  { _, ok := c.Plan.Removed(name); return ok }

// movesJAX reports whether one of the distributions that a JAX is made of comes: it is judged by the names of all of them
// then.
func (c *Change) movesJAX() bool {
	return slices.ContainsFunc(c.Plan.Installs, func(p facts.Planned) bool { return request.JAXPart(p.Name) })
}

// packages returns the companions that stay, and those that the plan installs.
func (c *Change) packages(left []facts.Package) []facts.Package {
	stay := slices.DeleteFunc(slices.Clone(left), func(p facts.Package) bool { return c.comes(p.Name) })
	return append(stay, c.Coming.Packages...)
}

// StandsIn reports whether the files of a replaced distribution can be read instead of those that come. Another release
// has the same modules, and METADATA says whether it satisfies those who import them (Lacks). A build or CUDA library
// differs by release, so it is known only by name.
func (c *Change) StandsIn(name string, envs []facts.Environment) bool {
	built := slices.ContainsFunc(envs, func(e facts.Environment) bool { return buildNamed(e.Builds, name) != nil })
	serves := name == "numpy" || name == "protobuf"
	return c.comes(name) && !built && (serves || !libraryWheel(name) && !distname.Companions.Match(name))
}

// keptBuild returns a build that stays. before is how it was read, and without is how it reads after the removals, or
// empty if it no longer reads.
func (c *Change) keptBuild(before *facts.Build, without facts.Build) facts.Build {
	if before == nil {
		return without
	}
	leads := c.leads(before, without.Missing)
	open := map[string]string{}
	replaced := false
	for _, name := range leads {
		coming, comes := c.Plan.Installed(name)
		if !comes {
			continue
		}
		replaced = true
		if !c.comesAsRead(before, name, coming) {
			open[name] = coming
		}
	}
	for name, coming := range c.refusedReleases(before) {
		open[name], replaced = coming, true
	}
	if !replaced { // what it has lost stays lost
		c.seen[without.Name] = true
		without.Hindrances = c.remainingHindrances(&without)
		return without
	}
	b := *before
	if b.Extension || len(open) > 0 {
		b.Unmet = nil
	}
	b.Hindrances = c.remainingHindrances(&b)
	c.dropLibraries(&b)
	if len(open) > 0 {
		b.Open = open
	}
	return b
}

// remainingHindrances returns the hindrances of a build that what comes does not mend.
func (c *Change) remainingHindrances(b *facts.Build) []facts.Hindrance {
	return slices.DeleteFunc(slices.Clone(b.Hindrances), func(h facts.Hindrance) bool { return c.mends(b, h) })
}

// mends reports whether the plan reinstalls what hinders an import: its distribution, the missing distribution or
// module, or the wheel with the missing library.
func (c *Change) mends(b *facts.Build, h facts.Hindrance) bool {
	name, _, _ := strings.Cut(h.Of, " ")
	switch {
	case c.comes(name), c.comes(distname.Normal(h.By)):
		return true
	case h.Kind == facts.HindranceLibrary:
		return c.bringsLibrary(b, h.By)
	}
	return h.Kind == facts.HindranceSpoiled && c.comes(c.Files[h.Path])
}

// leads returns the distributions that go or come and to which a build's files, or its metadata, lead: its framework,
// the wheels of its libraries, and of those that are missing without what goes, which a library of a library may have
// asked for.
func (c *Change) leads(b *facts.Build, missing []string) []string {
	var names []string
	add := func(name string) {
		if name != "" && name != b.Name && (c.goes(name) || c.comes(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if b.Extension {
		add(b.Framework)
	}
	for name := range b.Requires {
		add(name)
	}
	for _, t := range b.Taken {
		add(c.Files[t.Path])
		add(c.wheelOver(t.Path))
	}
	for _, u := range slices.Concat(b.Unmet, b.Unresolved) {
		add(c.Files[u.Path])
	}
	for _, file := range b.Beside {
		add(c.Files[file])
	}
	for file, name := range c.Files {
		if library := path.Base(file); slices.Contains(missing, library) && !slices.Contains(b.Missing, library) {
			add(name)
		}
	}
	for _, p := range c.Plan.Installs {
		if slices.ContainsFunc(b.Missing, func(library string) bool { return brings(p.Name, library) && sameMajor(p.Version, library) }) {
			add(p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// wheelOver returns the wheel that comes and overwrites a library of one that stays, as nvidia-nccl-cu13 overwrites the
// libnccl.so.2 of nvidia-nccl-cu12.
func (c *Change) wheelOver(file string) string {
	_, below, ok := strings.Cut(file, "/site-packages/nvidia/")
	if !ok {
		return ""
	}
	library, _, _ := strings.Cut(below, "/")
	for _, p := range c.Plan.Installs {
		stem, _, family := strings.Cut(p.Name, "-cu1")
		if family && stem == "nvidia-"+strings.ReplaceAll(library, "_", "-") {
			return p.Name
		}
	}
	return ""
}

// brings reports whether a wheel may have a library that is missing, by their names: nvidia-cublas-cu12 has
// libcublasLt.so.12.
func brings(wheel, library string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(library, "lib")), ".so")
	middle, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(wheel, "nvidia-"), "cuda-"), "-cu1")
	switch stem {
	case "cudart":
		stem = "runtime"
	case "nvtoolsext":
		stem = "nvtx"
	}
	return libraryWheel(wheel) && stem != "" && middle != "" && strings.HasPrefix(stem, middle)
}

// sameMajor reports whether a library's soname can belong to a wheel's release: libcublas.so.12 belongs to 12.9.1.4 and
// not to 13.4. Sonames with 0 or 1, such as libcufile.so.0 of 1.13, count incompatible changes and not releases.
func sameMajor(release, library string) bool {
	_, so, _ := strings.Cut(library, ".so.")
	major, have := version.ParseOrZero(so).Major(), version.ParseOrZero(release)
	return major < 2 || !have.Known() || have.Major() == major
}

func libraryWheel(name string) bool {
	return strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "cuda-")
}

// comesAsRead reports whether what comes equals what the build was read with: the same release, the one that its
// metadata pins, or a patch of the same framework for the same CUDA, which has the same binary interface.
func (c *Change) comesAsRead(b *facts.Build, name, coming string) bool {
	gone, _ := c.Plan.Removed(name)
	if coming != "" && (coming == gone || coming == b.Requires[name]) {
		return true
	}
	was, okWas := version.ParseRelease(gone)
	will, okWill := version.ParseRelease(coming)
	return okWas && okWill && name == b.Framework && was.Local == will.Local &&
		was.Number.Short() == will.Number.Short() && was.Final() && will.Final()
}

// refusedReleases returns the releases that the plan installs and that a build's METADATA does not accept.
func (c *Change) refusedReleases(b *facts.Build) map[string]string {
	bad := map[string]string{}
	if c.Ranges == nil {
		return bad
	}
	for name, accepted := range c.Ranges(b.Name) {
		coming, comes := c.Plan.Installed(name)
		if comes && coming != "" && name != "numpy" && distname.Companions.Match(name) && !(requirements.Requirement{Range: accepted}).Accepts(coming) {
			bad[name] = coming
		}
	}
	return bad
}

// dropLibraries removes from a build what was read of replaced libraries: those that the loader took, and missing
// ones whose wheel comes.
func (c *Change) dropLibraries(b *facts.Build) {
	comes := func(file string) bool { return c.comes(c.Files[file]) || c.wheelOver(file) != "" }
	b.Taken = slices.DeleteFunc(slices.Clone(b.Taken), func(t facts.Taken) bool { return comes(t.Path) })
	b.Unresolved = slices.DeleteFunc(slices.Clone(b.Unresolved), func(u facts.Unresolved) bool {
		return comes(u.Path) || comes(u.By)
	})
	fresh := map[string]bool{} // names of libraries that come again
	for file := range c.Files {
		if comes(file) {
			fresh[path.Base(file)] = true
		}
	}
	back := func(library string) bool { return fresh[library] || c.bringsLibrary(b, library) }
	b.Missing = slices.DeleteFunc(slices.Clone(b.Missing), back)
	b.Linked = slices.DeleteFunc(slices.Clone(b.Linked), back)
	b.Unloadable = slices.DeleteFunc(slices.Clone(b.Unloadable), func(u facts.Unloadable) bool { return back(u.Name) })
	for file, name := range c.Files { // what goes for good is missing from now on
		used := slices.Contains(b.Beside, file) || slices.ContainsFunc(b.Taken, func(t facts.Taken) bool { return t.Path == file })
		if used && !c.comes(name) {
			b.Missing = append(b.Missing, path.Base(file))
			b.Taken = slices.DeleteFunc(b.Taken, func(t facts.Taken) bool { return t.Path == file })
			b.Beside = slices.DeleteFunc(slices.Clone(b.Beside), func(beside string) bool { return beside == file })
		}
	}
	slices.Sort(b.Missing)
}

// bringsLibrary reports whether the plan installs the wheel of a library that is missing: of those that a build pins, and of
// those that come, the one whose name says the most of it. libcusparseLt.so.0 is nvidia-cusparselt-cu12's.
func (c *Change) bringsLibrary(b *facts.Build, library string) bool {
	wheel := ""
	better := func(name string) {
		if brings(name, library) && len(name) > len(wheel) {
			wheel = name
		}
	}
	for name := range b.Requires {
		better(name)
	}
	for _, p := range c.Plan.Installs {
		better(p.Name)
	}
	release, comes := c.Plan.Installed(wheel)
	return comes && sameMajor(release, library)
}
