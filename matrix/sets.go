package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// Pins works out the sets for the machine of the facts with a target laid over it. Every set passes Check.
func Pins(t *Tables, f facts.Facts, target Target, want pin.Wanted) pin.Sets {
	f.Complete()
	m := newMachine(t, &f, target, Policy{})
	b := m.wantedBuild(want)
	sets := pin.Sets{Schema: pin.Schema, Target: m.pinTarget(b, want), Sets: []pin.Set{}, Missing: []pin.None{}}
	for _, c := range []struct {
		choice pin.Choice
		work   func(*build) (pin.Set, string)
	}{{pin.KeepDriver, m.keepDriver}, {pin.SmallestDriver, m.smallestDriver}, {pin.Newest, m.newest}} {
		set, why := c.work(b)
		if why != "" {
			sets.Missing = append(sets.Missing, pin.None{Choice: c.choice, Why: why, Source: []string{}})
			continue
		}
		set.Choice = c.choice
		sets.Sets = append(sets.Sets, set)
	}
	return sets
}

// wantedBuild stands for what is to be installed, in the environment that counts.
func (m *machine) wantedBuild(want pin.Wanted) *build {
	b := &build{Build: &facts.Build{Name: want.Framework, Version: want.Release},
		env: newEnvironment(m.t, &facts.Environment{})}
	standing := standingOf(m.t, m.f)
	for i := range m.f.Environments {
		if e := &m.f.Environments[i]; standing(e) != noted && b.env.Path == "" {
			b.env = m.environment(e)
		}
	}
	b.python = cmp.Or(m.target.Python, b.env.Python)
	b.release, _ = version.ParseRelease(want.Release)
	return b
}

func (m *machine) pinTarget(b *build, want pin.Wanted) pin.Target {
	t := pin.Target{Wanted: []string{}, Instance: m.target.Instance, Driver: m.driver().version.String(), GPUs: []string{},
		Python:   version.ShortPython(b.python),
		Platform: m.platform, Libc: m.f.System.Libc, Framework: want.Framework, Release: want.Release}
	for _, g := range m.gpus {
		t.GPUs = append(t.GPUs, g.label)
	}
	return t
}

// keepDriver is what runs on the driver that is there, nearest to what was asked for.
func (m *machine) keepDriver(b *build) (pin.Set, string) {
	switch {
	case !m.driver().version.Known() && !m.driver().cuda.Known():
		return pin.Set{}, "the driver is unknown (add --driver)"
	case !m.drives(m.driver().version):
		return pin.Set{}, fmt.Sprintf("%s does not support %s", m.driverWords(), m.gpuWords())
	}
	candidates := m.runnable(b)
	if len(candidates) == 0 {
		return pin.Set{}, m.whyNone(b)
	}
	m.rankRows(b, candidates)
	return m.set(b, candidates[0], nil, m.withRelease(b, candidates[0], "runs on "+m.driverWords())), ""
}

// smallestDriver is the release nearest to what was asked for, in the variant that needs the lowest driver.
func (m *machine) smallestDriver(b *build) (pin.Set, string) {
	candidates, why := m.onSomeDriver(b)
	if why != "" {
		return pin.Set{}, why
	}
	m.rankRows(b, candidates)
	for _, r := range candidates {
		variants := slices.DeleteFunc(slices.Clone(candidates), func(v row) bool { return v.Release != r.Release })
		if set, ok := m.onLowestDriver(b, variants); ok {
			return set, ""
		}
	}
	return pin.Set{}, "no driver branch in the tables supports " + m.gpuWords() + " and runs " + spoken[b.Name]
}

// onLowestDriver is the variant of one release that needs the least: no other driver at all, else the lowest branch
// that is still maintained; of variants that need the same the one of the newest CUDA.
func (m *machine) onLowestDriver(b *build, variants []row) (pin.Set, bool) {
	if kept := slices.DeleteFunc(slices.Clone(variants), func(r row) bool { return !m.driverServes(r) }); len(kept) > 0 {
		m.rankRows(b, kept)
		return m.set(b, kept[0], nil, m.withRelease(b, kept[0], "the driver can stay")), true
	}
	var best *tables.Branch
	var chosen row
	for _, r := range variants {
		branch := m.branchFor(r.CUDA)
		if branch == nil {
			continue
		}
		if c := 0; best != nil {
			if c = cmp.Compare(branch.Number(), best.Number()); c > 0 ||
				c == 0 && !chosen.CUDA.Less(r.CUDA) {
				continue
			}
		}
		best, chosen = branch, r
	}
	if best == nil {
		return pin.Set{}, false
	}
	return m.set(b, chosen, best, m.withRelease(b, chosen,
		"branch "+best.Branch+" is the oldest maintained branch that runs it")), true
}

// newest is the newest release in the variant of the newest CUDA, on the newest production or long-term branch.
func (m *machine) newest(b *build) (pin.Set, string) {
	candidates, why := m.onSomeDriver(b)
	if why != "" {
		return pin.Set{}, why
	}
	slices.SortStableFunc(candidates, func(x, y row) int {
		if c := y.number.Compare(x.number); c != 0 {
			return c
		}
		return y.CUDA.Compare(x.CUDA)
	})
	for _, r := range candidates {
		branch := m.newestBranch(r.CUDA)
		switch {
		case m.driverServes(r) && (branch == nil || m.driver().version.Major() >= branch.Number()):
			return m.set(b, r, nil, "the newest release of "+b.Name+"; the driver can stay"), ""
		case branch != nil:
			return m.set(b, r, branch, "the newest release of "+b.Name+", on the newest maintained driver branch that supports the GPU"), ""
		}
	}
	return pin.Set{}, "no driver branch in the tables supports " + m.gpuWords() + " and runs " + spoken[b.Name]
}

// onSomeDriver are the rows that would run here if the driver were another one; why says that there are none.
func (m *machine) onSomeDriver(b *build) (list []row, why string) {
	list = slices.DeleteFunc(m.frameworkRows(b.Name), func(r row) bool { return !m.fits(b, r) || !m.hasCode(r) })
	if len(list) == 0 {
		return nil, m.whyNone(b)
	}
	return list, ""
}

// driverServes reports whether the driver that is there runs a row and drives the GPUs.
func (m *machine) driverServes(r row) bool {
	return m.driver().version.Known() && m.drives(m.driver().version) && m.reached(r.CUDA)
}

// drives reports whether a driver knows every GPU here, and still does.
func (m *machine) drives(driver version.Number) bool {
	return !slices.ContainsFunc(m.gpus, func(g gpu) bool { return driver.Known() && !m.drivenBy(g, driver) })
}

// branchFor is the lowest maintained branch for a CUDA; nil where a driver cannot be chosen.
func (m *machine) branchFor(cuda version.Number) *tables.Branch {
	if m.windowsNumbers() || m.jetson() {
		return nil
	}
	return m.driverBranch(func(b *tables.Branch) bool { return m.reaches(b, cuda) })
}

// newestBranch is the newest production or long-term branch for a CUDA, else the newest of all.
func (m *machine) newestBranch(cuda version.Number) *tables.Branch {
	if m.windowsNumbers() || m.jetson() {
		return nil
	}
	var found *tables.Branch
	branches := tables.Rows[tables.Branch](m.t)
	for i := range branches {
		b := &branches[i]
		if b.Newest.Known() && m.branchFits(b) && m.reaches(b, cuda) &&
			(b.Type != "NFB" || found == nil || found.Type == "NFB") {
			found = b
		}
	}
	return found
}

// set writes one set down.
func (m *machine) set(b *build, r row, branch *tables.Branch, why string) pin.Set {
	s := pin.Set{Packages: []pin.Package{r.requirement()}, Steps: []pin.Step{}, Why: why, Lacks: []string{}, Source: slices.Clone(r.source)}
	for _, c := range r.companions {
		if local, ok := m.companionFor(c, r); ok {
			s.Packages = append(s.Packages, local)
		}
	}
	s.Packages = append(s.Packages, m.chosenLibraries(r)...)
	if r.framework == "torch" {
		s.Index = torchIndex(r.Variant)
	}
	s.Commands = installCommands(b, r, s.Packages)
	if branch != nil {
		s.Driver = branch.Newest.String()
		for tool, command := range m.driverCommands(*branch) {
			s.Commands[tool] = command
		}
		if !m.partOfGPU() {
			s.Commands["runfile"] = m.runfile(*branch)
		}
		s.Steps = orEmpty(m.driverSteps(*branch))
		s.Source = append(s.Source, branch.Source...)
	}
	return s
}

// withRelease says where the set's release is another one than was asked for: 2.16.2 is one of 2.16.
func (m *machine) withRelease(b *build, r row, why string) string {
	if asked := b.release.Number; asked.Known() && version.Of(r.Release).Compare(asked) != 0 &&
		!strings.HasPrefix(r.Release, asked.String()+".") {
		return fmt.Sprintf("%s; no build of %s %s runs here, %s is the nearest that does", why, b.Name, b.release.Number,
			r.Release)
	}
	return why
}

// companionFor is a companion in the row's variant; false where there is none: torchaudio 2.11.0 was not built for
// variants that came after it.
func (m *machine) companionFor(c pin.Package, r row) (pin.Package, bool) {
	if c.Package == "torchaudio" && c.Version != "" {
		built := m.t.Torch(c.Version, r.Platform)
		if len(built) > 0 && !slices.ContainsFunc(built, func(w tables.Torch) bool { return w.Variant == r.Variant }) {
			return c, false
		}
	}
	return localOf(c, r), c.Version != ""
}

// runfile is the driver's own installer, for systems without packages of it. It has both kernel modules from 515 on.
func (m *machine) runfile(b tables.Branch) string {
	arch := "x86_64"
	if m.platform == "linux_aarch64" {
		arch = "aarch64"
	}
	command := fmt.Sprintf("sudo sh ./NVIDIA-Linux-%s-%s.run", arch, b.Newest)
	if m.openModule(b) && b.Module == "both" {
		command += " -m=kernel-open"
	}
	return command + "  # after downloading it from https://www.nvidia.com/drivers"
}
