package pins

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// PackagePin returns the pin of one wheel that nothing else depends on.
func PackagePin(e *model.Environment, name, version string) []verdict.Pin {
	spec := name + version
	if !strings.ContainsAny(version[:1], "<>=") {
		spec = name + "==" + version
	}
	return []verdict.Pin{{Package: name, Version: version, Why: "what the build was made with; keeps the driver",
		Commands: Install(e, pin.Install{Packages: []string{spec}, NoDeps: true})}}
}

// localOf adds the row's variant to a companion's version, as on PyTorch's index. Triton has no variants.
func localOf(p pin.Package, r model.Row) pin.Package {
	if p.Package == "triton" {
		return p
	}
	return pin.Package{Package: p.Package, Version: p.Version + "+" + r.Variant}
}

// Pins computes the sets for the machine of the facts with a target over it. Every set passes Check.
func Pins(t *tables.Tables, f facts.Facts, target hardware.Target, want pin.Wanted) pin.Sets {
	f.Complete()
	m := model.NewMachine(t, &f, target, verdict.Policy{})
	b := NewWantedBuild(m, want)
	sets := pin.Sets{Schema: pin.Schema, Target: DescribeTarget(m, b, want), Sets: []pin.Set{}, Missing: []pin.None{}, Ends: FindEnds(m, want.Framework)}
	for _, c := range []struct {
		choice pin.Choice
		work   func(*model.Machine, *model.Build) (pin.Set, string)
	}{{pin.KeepDriver, keepDriver}, {pin.ForwardCompat, forwardCompat}, {pin.SmallestDriver, smallestDriver}, {pin.Newest, newest}} {
		set, why := c.work(m, b)
		switch {
		case why != "":
			sets.Missing = append(sets.Missing, pin.None{Choice: c.choice, Why: why, Source: []string{},
				Driver: c.choice == pin.KeepDriver && ExplainDriver(m) != ""})
		case len(set.Packages) > 0:
			set.Choice = c.choice
			sets.Sets = append(sets.Sets, set)
		}
	}
	return sets
}

// NewWantedBuild returns a build that stands for what will be installed, in the environment that counts.
func NewWantedBuild(m *model.Machine, want pin.Wanted) *model.Build {
	b := &model.Build{Build: &facts.Build{Name: want.Framework, Version: want.Release},
		Env: model.NewEnvironment(m.Tables, &facts.Environment{})}
	standing := model.StandingOf(m.Tables, m.Facts)
	for i := range m.Facts.Environments {
		if e := &m.Facts.Environments[i]; standing(e) != model.Noted && b.Env.Path == "" {
			b.Env = m.Environment(e)
		}
	}
	b.Interpreter = cmp.Or(m.Target.Python, b.Env.Python)
	b.Release, _ = version.ParseRelease(want.Release)
	return b
}

// PythonOf returns the Python for which sets are chosen, "3.12"; empty if none is known.
func PythonOf(t *tables.Tables, f facts.Facts, target hardware.Target) string {
	if target.Python != "" {
		return version.ShortPython(target.Python)
	}
	f.Complete()
	return version.ShortPython(NewWantedBuild(model.NewMachine(t, &f, target, verdict.Policy{}), pin.Wanted{}).Interpreter)
}

// Pythons returns the Pythons that the tables have wheels of a framework for, oldest first, without the free-threaded
// builds: wheels of want's release, or of any release if it names none.
func Pythons(t *tables.Tables, want pin.Wanted) []string {
	var none facts.Facts
	none.Complete()
	m := model.NewMachine(t, &none, hardware.Target{}, verdict.Policy{NoPins: true, Today: t.Date()})
	var list []string
	for _, r := range m.FrameworkRows(want.Framework) {
		if want.Release == "" || r.Release == want.Release || strings.HasPrefix(r.Release, want.Release+".") {
			list = append(list, r.Python...)
		}
	}
	slices.SortFunc(list, version.CompareTexts)
	return slices.DeleteFunc(slices.Compact(list), func(python string) bool { return strings.HasSuffix(python, "t") })
}

func DescribeTarget(m *model.Machine, b *model.Build, want pin.Wanted) pin.Target {
	t := pin.Target{Wanted: []string{}, Assumed: []string{}, Instance: m.Target.Instance, Driver: m.Driver().Version.String(), GPUs: []string{},
		Python:   version.ShortPython(b.Interpreter),
		Platform: m.Platform, Libc: m.Facts.System.Libc, Framework: want.Framework, Release: want.Release}
	for _, g := range m.GPUs {
		t.GPUs = append(t.GPUs, g.Label)
	}
	return t
}

// byJetPack says what to give for a Jetson, whose driver no set can choose.
const byJetPack = "the driver is unknown: a Jetson's comes with its JetPack (add --driver with the version that `cat /proc/driver/nvidia/version` or nvidia-smi shows there)"

// ExplainNoBranch says that no driver branch serves, and for a Jetson, whose driver is of no branch, what to give.
func ExplainNoBranch(m *model.Machine, rest string) string {
	if m.Jetson() && !m.DriverTold() {
		return byJetPack
	}
	if m.Jetson() {
		return "the driver of " + GPUWords(m) + " comes with its JetPack, and no set fits " + m.DriverWords()
	}
	return "no driver branch in the tables supports " + GPUWords(m) + rest
}

// ExplainDriver says why nothing can be chosen for the driver that is there; it is empty if something can.
func ExplainDriver(m *model.Machine) string {
	switch {
	case !m.DriverTold() && m.Jetson():
		return byJetPack
	case !m.DriverTold():
		return "the driver is unknown (add --driver)"
	case !DrivesGPUs(m, m.Driver().Version):
		return fmt.Sprintf("%s does not support %s", m.DriverWords(), GPUWords(m))
	}
	return ""
}

// keepDriver returns what runs on the driver that is there, nearest to what was asked for.
func keepDriver(m *model.Machine, b *model.Build) (pin.Set, string) {
	if why := ExplainDriver(m); why != "" {
		return pin.Set{}, why
	}
	candidates := runnable(m, b)
	if len(candidates) == 0 {
		return pin.Set{}, whyNone(m, b)
	}
	rankRows(m, b, candidates)
	return set(m, b, candidates[0], nil, mentionRelease(m, b, candidates[0], "runs on "+m.DriverWords())), ""
}

// forwardCompat returns a newer release than keepDriver's that runs on the present driver with a cuda-compat package.
// It is empty for most GPUs and drivers, which have no such package.
func forwardCompat(m *model.Machine, b *model.Build) (pin.Set, string) {
	if b.Release.Number.Known() || !m.Driver().Version.Known() || !DrivesGPUs(m, m.Driver().Version) || !liftable(m) {
		return pin.Set{}, ""
	}
	var least version.Number
	if kept := runnable(m, b); len(kept) > 0 {
		rankRows(m, b, kept)
		least = kept[0].Number
	}
	list, _ := onSomeDriver(m, b)
	list = slices.DeleteFunc(list, func(r model.Row) bool {
		return least.Known() && !least.Less(r.Number) || m.Reached(r.CUDA) || m.CompatPackage(r.CUDA) == nil
	})
	if len(list) == 0 {
		return pin.Set{}, ""
	}
	rankRows(m, b, list)
	row := m.CompatPackage(list[0].CUDA)
	s := set(m, b, list[0], nil, "keeps the driver; "+row.Package+" lifts it to CUDA "+row.CUDA.String()+
		" (forward compatibility, which data-centre GPUs support)")
	for tool, command := range compatCommands(m, row) {
		s.Commands[tool] = command
	}
	s.Source = append(s.Source, row.Source...)
	return s, ""
}

// liftable reports whether a cuda-compat package exists for the present driver.
func liftable(m *model.Machine) bool {
	return slices.ContainsFunc(tables.Rows[tables.Forward](m.Tables), func(f tables.Forward) bool { return m.CompatPackage(f.CUDA) != nil })
}

// smallestDriver returns the release nearest to the wanted one, in the variant that needs the lowest driver.
func smallestDriver(m *model.Machine, b *model.Build) (pin.Set, string) {
	candidates, why := onSomeDriver(m, b)
	if why != "" {
		return pin.Set{}, why
	}
	rankRows(m, b, candidates)
	for _, r := range candidates {
		variants := slices.DeleteFunc(slices.Clone(candidates), func(v model.Row) bool { return v.Release != r.Release })
		if set, ok := onLowestDriver(m, b, variants); ok {
			return set, ""
		}
	}
	return pin.Set{}, ExplainNoBranch(m, " and runs "+frameworkNames[b.Name])
}

// onLowestDriver returns the variant of one release that needs the smallest change: no other driver, otherwise the
// lowest maintained branch. Of equal variants it takes the one for the newest CUDA.
func onLowestDriver(m *model.Machine, b *model.Build, variants []model.Row) (pin.Set, bool) {
	if kept := slices.DeleteFunc(slices.Clone(variants), func(r model.Row) bool { return !driverServes(m, r) }); len(kept) > 0 {
		rankRows(m, b, kept)
		return set(m, b, kept[0], nil, mentionRelease(m, b, kept[0], "the driver can stay")), true
	}
	if m.WindowsNumbers() {
		return onLowestInWindows(m, b, variants)
	}
	var best *tables.Branch
	var chosen model.Row
	for _, r := range variants {
		branch := branchFor(m, r)
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
	return set(m, b, chosen, best, mentionRelease(m, b, chosen, ExplainBranch(m, best))), true
}

// newest returns the newest release, in the variant for the newest CUDA, on the newest production or long-term branch.
func newest(m *model.Machine, b *model.Build) (pin.Set, string) {
	candidates, why := onSomeDriver(m, b)
	if why != "" {
		return pin.Set{}, why
	}
	slices.SortStableFunc(candidates, func(x, y model.Row) int {
		if c := y.Number.Compare(x.Number); c != 0 {
			return c
		}
		return y.CUDA.Compare(x.CUDA)
	})
	for _, r := range candidates {
		branch := NewestBranch(m, r)
		switch {
		case driverServes(m, r) && (branch == nil || m.Driver().Version.Major() >= branch.Number()):
			return set(m, b, r, nil, newestWords(m, b, r)+"; the driver can stay"), ""
		case m.WindowsNumbers() && windowsFloor(m, r).Known():
			return inWindows(m, b, r, newestWords(m, b, r)), ""
		case branch != nil:
			return set(m, b, r, branch, newestWords(m, b, r)+", "+DescribeNewest(m, branch)), ""
		}
	}
	return pin.Set{}, ExplainNoBranch(m, " and runs "+frameworkNames[b.Name])
}

// newestWords names the release of a row as the newest one, and says why newer ones of the tables are left out.
func newestWords(m *model.Machine, b *model.Build, r model.Row) string {
	words, python := "the newest release of "+b.Name, version.ShortPython(b.Interpreter)
	fault, forPython, withCode, newer := "", false, false, false
	for _, o := range m.FrameworkRows(b.Name) {
		switch {
		case !r.Number.Less(o.Number):
		case IsFaulty(m, b, o):
			fault = o.Release
		default:
			forPython = forPython || python == "" || slices.Contains(o.Python, python)
			withCode = withCode || HasCode(m, o)
			newer = true
		}
	}
	switch {
	case newer && !forPython:
		words += " for Python " + python
	case newer && !withCode:
		words += " with machine code for the GPU"
	case newer:
		words += " that fits this machine"
	}
	if fault != "" {
		words += " without the known fault of " + fault
	}
	return words
}

// onSomeDriver returns the rows that would run here with another driver. If there are none, why says so.
func onSomeDriver(m *model.Machine, b *model.Build) (list []model.Row, why string) {
	key := model.MemoKey{Framework: b.Name, Python: version.ShortPython(b.Interpreter), Release: "on some driver"}
	list = m.Memo.Rows(key, func() []model.Row {
		return slices.DeleteFunc(m.FrameworkRows(b.Name), func(r model.Row) bool { return !fits(m, b, r) || !HasCode(m, r) })
	})
	if len(list) == 0 {
		return nil, whyNone(m, b)
	}
	return slices.Clone(list), ""
}

// driverServes reports whether the present driver runs a row and supports the GPUs.
func driverServes(m *model.Machine, r model.Row) bool {
	return m.Driver().Version.Known() && DrivesGPUs(m, m.Driver().Version) && m.Reached(r.CUDA) && CompilesPTX(m, r)
}

// DrivesGPUs reports whether a driver supports every GPU here: it is neither too old nor too new.
func DrivesGPUs(m *model.Machine, driver version.Number) bool {
	return !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return driver.Known() && !m.DrivenBy(g, driver) })
}

// branchFor returns the lowest maintained branch that runs a row, or nil if a driver cannot be chosen.
func branchFor(m *model.Machine, r model.Row) *tables.Branch {
	if m.WindowsNumbers() || m.Jetson() {
		return nil
	}
	return DriverBranch(m, func(b *tables.Branch) bool { return onBranch(m, b, r) })
}

// NewestBranch returns the newest production or long-term branch that runs a row, otherwise the newest branch of any
// kind.
func NewestBranch(m *model.Machine, r model.Row) *tables.Branch {
	if m.WindowsNumbers() || m.Jetson() {
		return nil
	}
	var found *tables.Branch
	branches := tables.Rows[tables.Branch](m.Tables)
	for i := range branches {
		b := &branches[i]
		if b.Newest.Known() && BranchFits(m, b) && onBranch(m, b, r) &&
			(b.Type != "NFB" || found == nil || found.Type == "NFB") {
			found = b
		}
	}
	return found
}

// set returns the set for one row.
func set(m *model.Machine, b *model.Build, r model.Row, branch *tables.Branch, why string) pin.Set {
	s := pin.Set{Packages: []pin.Package{r.Requirement()}, Steps: []pin.Step{}, Why: why, Lacks: []string{}, Source: slices.Clone(r.Source)}
	for _, c := range r.Companions {
		if local, ok := CompanionFor(m, c, r); ok {
			s.Packages = append(s.Packages, local)
		}
	}
	s.Packages = append(s.Packages, m.ChosenLibraries(r)...)
	if r.Framework == "torch" {
		s.Index = TorchIndex(r.Variant)
	}
	s.Commands = installCommands(b, r, s.Packages)
	if branch != nil {
		AddDriver(m, &s, branch)
	}
	return s
}

// AddDriver adds the driver that a set needs, and how to install it.
func AddDriver(m *model.Machine, s *pin.Set, branch *tables.Branch) {
	s.Driver, s.Commands = branch.Newest.String(), maps.Clone(s.Commands)
	for tool, command := range driverCommands(m, *branch) {
		s.Commands[tool] = command
	}
	if !m.PartOfGPU() {
		s.Commands["runfile"] = runfile(m, *branch)
	}
	s.Steps = verdict.OrEmpty(driverSteps(m, *branch))
	s.Source = append(s.Source, branch.Source...)
	for _, g := range m.GPUs {
		if words, source := m.Dispute(g, branch.Newest); words != "" {
			s.Lacks, s.Source = append(s.Lacks, words), append(s.Source, source...)
			break
		}
	}
}

// mentionRelease mentions that the set's release differs from the requested one. 2.16.2 does not differ from 2.16.
func mentionRelease(m *model.Machine, b *model.Build, r model.Row, why string) string {
	if asked := b.Release.Number; asked.Known() && version.ParseOrZero(r.Release).Compare(asked) != 0 &&
		!strings.HasPrefix(r.Release, asked.String()+".") {
		return fmt.Sprintf("%s; no build of %s %s runs here, %s is the nearest that does", why, b.Name, b.Release.Number,
			r.Release)
	}
	return why
}

// CompanionFor returns a companion in the row's variant, or false if there is none: torchaudio 2.11.0 was not built for
// later variants.
func CompanionFor(m *model.Machine, c pin.Package, r model.Row) (pin.Package, bool) {
	if c.Package == "torchaudio" && c.Version != "" {
		built := m.Tables.Torch(c.Version, r.Platform)
		if len(built) > 0 && !slices.ContainsFunc(built, func(w tables.Torch) bool { return w.Variant == r.Variant }) {
			return c, false
		}
	}
	return localOf(c, r), c.Version != ""
}

// runfile returns the step for NVIDIA's own installer, for systems without driver packages. It has both kernel modules
// from 515 on.
func runfile(m *model.Machine, b tables.Branch) string {
	arch := "x86_64"
	if m.Platform == "linux_aarch64" {
		arch = "aarch64"
	}
	command := fmt.Sprintf("sudo sh ./NVIDIA-Linux-%s-%s.run", arch, b.Newest)
	if openModule(m, b) && b.Module == "both" {
		command += " -m=kernel-open"
	}
	return command + "  # after downloading it from https://www.nvidia.com/drivers"
}
