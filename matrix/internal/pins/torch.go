// Package pins works out what to install on a machine: the release of a framework, its companions and engines, the
// driver, each with the commands that this system and environment take.
package pins

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// TorchIndex returns PyTorch's own package index of one variant.
func TorchIndex(variant string) string { return "https://download.pytorch.org/whl/" + variant }

// ForBuild says what to install instead of a build that does not run here: the same framework in a variant that runs on
// this driver, these GPUs and this Python, else the nearest release. steps say why there is none, or what else helps.
func ForBuild(m *model.Machine, b *model.Build) (pins []verdict.Pin, steps []pin.Step) {
	if m.Policy.NoPins {
		return nil, nil
	}
	if b.Origin == "image" {
		return nil, imageSteps(m)
	}
	if b.Named != nil && b.Named.Torch != "" && m.Tables.Trait("pins-torch", b.Name, version.Number{}) {
		return enginePins(m, b)
	}
	if !slices.Contains(model.Frameworks(), b.Name) {
		return nil, []pin.Step{pin.Say("install a build of " + pin.Quoted(b.Name) + " for this driver and these GPUs")}
	}
	if pins = frameworkPins(m, b); len(pins) == 0 {
		steps = []pin.Step{pin.Say(whyNone(m, b))}
		if list := EnginesIn(m, b.Env); b.Name == "torch" && len(list) > 0 && len(Ranked(m, b)) > 0 {
			steps = []pin.Step{pin.Say(noEngine(m, list[0].Name))}
		}
	}
	return pins, steps
}

// frameworkPins picks what to install instead: of the same release the variants that run here, those nearest to the
// driver's own CUDA first; else the one of the nearest release.
func frameworkPins(m *model.Machine, b *model.Build) []verdict.Pin { return Among(m, b, Ranked(m, b)) }

// Among picks from some rows, the nearest first.
func Among(m *model.Machine, b *model.Build, candidates []model.Row) []verdict.Pin {
	if list := EnginesIn(m, b.Env); b.Name == "torch" && len(list) > 0 {
		return pinEngines(m, b, list, candidates)
	}
	if len(candidates) == 0 {
		return nil
	}
	best := candidates[0]
	pins := []verdict.Pin{frameworkPin(m, b, best)}
	if len(candidates) > 1 && candidates[1].Release == best.Release {
		pins = append(pins, frameworkPin(m, b, candidates[1]))
	}
	return pins
}

// runnable returns the rows of the build's framework that this machine can run; where some of them also compile for its
// GPUs at run time, only those.
func runnable(m *model.Machine, b *model.Build) []model.Row {
	key := model.MemoKey{Framework: b.Name, Python: version.ShortPython(b.Interpreter)}
	return slices.Clone(m.Memo.Rows(key, func() []model.Row {
		list := slices.DeleteFunc(m.FrameworkRows(b.Name), func(r model.Row) bool { return !runs(m, b, r) })
		if slices.ContainsFunc(list, m.Assembles) {
			list = slices.DeleteFunc(list, func(r model.Row) bool { return !m.Assembles(r) })
		}
		return list
	}))
}

// Ranked returns the runnable rows, the nearest to the build's release first.
func Ranked(m *model.Machine, b *model.Build) []model.Row {
	if m.Policy.NoPins {
		return nil
	}
	key := model.MemoKey{Framework: b.Name, Python: version.ShortPython(b.Interpreter), Release: b.Release.Number.String()}
	if key.Release == "" {
		key.Release = "the newest"
	}
	return m.Memo.Rows(key, func() []model.Row {
		list := runnable(m, b)
		rankRows(m, b, list)
		return list
	})
}

// runs asks of a row what Check would ask of it once it is installed; a driver that is not known rules nothing out.
func runs(m *model.Machine, b *model.Build, r model.Row) bool {
	return fits(m, b, r) && (!m.DriverTold() || m.Reached(r.CUDA)) && hasCode(m, r) && compiles(m, r)
}

// targetsWithout returns the other targets on which a row does not run.
func targetsWithout(m *model.Machine, r model.Row) []string {
	var names []string
	for _, o := range m.Beside {
		if !hasCode(o, r) || !compiles(o, r) || o.DriverTold() && !o.Reached(r.CUDA) {
			names = append(names, o.Name)
		}
	}
	return names
}

// whyRow says what a row costs: what its CUDA asks of the driver, nothing more than what is there where that is known,
// and which of the other targets it does not serve.
func whyRow(m *model.Machine, r model.Row) string {
	why := "keeps the driver"
	if !m.DriverTold() {
		_, need, _ := m.Floor(r.CUDA)
		why = "needs " + need
	}
	if names := targetsWithout(m, r); len(names) > 0 {
		why += "; does not run on " + verdict.Some(names)
	}
	return why
}

// fits reports whether the environment takes the row's wheels: its Python, its C library, and that they are worth
// taking.
func fits(m *model.Machine, b *model.Build, r model.Row) bool {
	python := version.ShortPython(b.Interpreter)
	return (python == "" || slices.Contains(r.Python, python)) && hasGlibc(m, r) && !faulty(m, b, r)
}

// faulty reports whether an advisory speaks of the release itself, whatever the machine: of such a release there is no
// pin.
func faulty(m *model.Machine, b *model.Build, r model.Row) bool {
	speaks := func(c tables.Clause) bool {
		switch c.Name {
		case r.Framework:
			return c.Allowed.Has(r.Number)
		case "python":
			python := version.Of(version.ShortPython(b.Interpreter))
			return python.Known() && c.Allowed.Has(python)
		}
		return false
	}
	return slices.ContainsFunc(tables.Rows[tables.Advisory](m.Tables), func(a tables.Advisory) bool {
		return !slices.ContainsFunc(a.When.Clauses, func(c tables.Clause) bool { return !speaks(c) })
	})
}

// hasGlibc reports whether the C library loads a row's wheels: no manylinux wheel loads with musl, and a C library that
// is not known rules nothing out.
func hasGlibc(m *model.Machine, r model.Row) bool {
	return m.Facts.System.Libc != "musl" && !(m.Libc.Known() && m.Libc.Less(r.Glibc))
}

// hasCode reports whether a row serves every known GPU on some driver: it has machine code for the GPU, each of its parts
// has machine code or PTX, and so has its cuDNN. (torch 2.4 and newer still carry code for a K80; their cuDNN 9 does not.)
func hasCode(m *model.Machine, r model.Row) bool {
	least := m.Tables.CuDNNLeast(r.CuDNN)
	for _, g := range m.Kinds {
		if !g.Capability.Known() || version.Cover(r.SASS, nil, g.Capability) != version.BySASS ||
			!g.Capability.AtLeast(least) || model.Unserved(r.Parts(), g.Capability) != nil {
			return false
		}
	}
	return true
}

// compiles reports whether the driver can compile the parts of a row that have only PTX for a GPU.
func compiles(m *model.Machine, r model.Row) bool {
	parts := r.Parts()
	for _, g := range m.Kinds {
		for _, p := range parts {
			if newer, _ := m.NewerPTX(r.CUDA, p.PTXFor(g.Capability)); newer && p.Cover(g.Capability) == version.ByPTX {
				return false
			}
		}
	}
	return true
}

// onBranch reports whether the newest driver of a branch runs a row.
func onBranch(m *model.Machine, b *tables.Branch, r model.Row) bool {
	return reaches(m, b, r.CUDA) && (len(r.Parts()) == 0 || compiles(m.On(b.Newest), r))
}

// rankRows sorts by nearness: first what a file's range allows, then of the release, then what serves the other targets,
// then of the CUDA to the driver's own.
func rankRows(m *model.Machine, b *model.Build, list []model.Row) {
	releases := Releases(m, b.Name)
	wanted, exact := slices.BinarySearchFunc(releases, b.Release.Number, version.Number.Compare)
	if !b.Release.Number.Known() { // nothing to stay near to: the newest
		wanted, exact = len(releases), true
	}
	distance := func(r model.Row) int {
		at, _ := slices.BinarySearchFunc(releases, r.Number, version.Number.Compare)
		d := at - wanted
		switch {
		case exact:
		case strings.HasPrefix(r.Release, b.Release.Number.String()+"."):
			return 0 // 2.16.2 is one of 2.16
		case d >= 0:
			d++ // a release that the table does not know stands before the next one
		}
		return max(d, -d)
	}
	allowed, err := version.ParseSpecifiers(b.Specifier)
	outside := func(r model.Row) int {
		if err == nil && !b.Release.Number.Known() && !allowed.Has(r.Release) {
			return 1
		}
		return 0
	}
	ranks := make([]rank, len(list))
	for i, r := range list {
		ranks[i] = rank{r, outside(r), distance(r), len(targetsWithout(m, r)), cudaDistance(m, r.CUDA)}
	}
	slices.SortStableFunc(ranks, rank.compare)
	for i, r := range ranks {
		list[i] = r.row
	}
}

// rank is a row with what it costs, each the less the better.
type rank struct {
	row      model.Row
	outside  int // 1: the file's range does not take it
	distance int // in releases, from the build's
	unserved int // other targets on which it does not run
	cuda     int // as cudaDistance has it
}

// compare puts the better of two rows first; of two that cost as much, the newer.
func (r rank) compare(o rank) int {
	return cmp.Or(r.outside-o.outside, r.distance-o.distance, r.unserved-o.unserved, o.row.Number.Compare(r.row.Number), r.cuda-o.cuda)
}

// cudaDistance returns how far a CUDA is from the driver's own, in minor versions; ten make a family.
func cudaDistance(m *model.Machine, cuda version.Number) int {
	d := (cuda.Major()-m.Driver().CUDA.Major())*10 + cuda.Minor() - m.Driver().CUDA.Minor()
	return max(d, -d)
}

// Releases returns every release of a framework's table once, oldest first.
func Releases(m *model.Machine, framework string) []version.Number {
	list, ok := m.Released[framework]
	if ok {
		return list
	}
	for _, r := range m.FrameworkRows(framework) {
		if len(list) == 0 || list[len(list)-1].Compare(r.Number) != 0 {
			list = append(list, r.Number)
		}
	}
	m.Released[framework] = list
	return list
}

// frameworkPin writes the commands. Companions that are installed come along, or they would break.
func frameworkPin(m *model.Machine, b *model.Build, r model.Row) verdict.Pin {
	list := []pin.Package{r.Requirement()}
	for _, c := range r.Companions {
		if local, ok := CompanionFor(m, c, r); ok && c.Package != "triton" && b.Env.Package(c.Package) != nil {
			list = append(list, local)
		}
	}
	list = append(list, m.ChosenLibraries(r)...)
	return verdict.Pin{Package: r.Framework, Version: list[0].Version, Why: whyRow(m, r),
		Commands: installCommands(b, r, list)}
}

// installCommands returns pip's and uv's words for a list of packages of one row's variant.
func installCommands(b *model.Build, r model.Row, list []pin.Package) map[string]string {
	index := ""
	if r.Framework == "torch" {
		index = TorchIndex(r.Variant)
	}
	return Commands(b, r.CUDA, list, index, b.Env.FrameworkTwins(b.Name)...)
}

// Commands install a list of packages for one CUDA, after the wheels that own the same files for another are gone.
func Commands(b *model.Build, cuda version.Number, list []pin.Package, index string, drop ...string) map[string]string {
	install := pin.Install{Remove: append(otherFamily(b, cuda), drop...), Index: index}
	for _, p := range list {
		install.Packages = append(install.Packages, p.Spec())
		// What is there already is left alone, unless an installer is told to write it again.
		install.Again = install.Again || b.Path != "" && p.Package == b.Name && p.Version == b.Version
	}
	return Install(b.Place(), install)
}

// otherFamily returns the installed wheels that own the same files as those of the new CUDA family: left in place, they
// would take the new files with them when they are removed.
func otherFamily(b *model.Build, cuda version.Number) []string {
	var list []string
	for _, s := range b.Env.SharedFiles() {
		for _, p := range s.Wheels {
			if strings.HasPrefix(p.Name, "nvidia-") && p.Family().Major() != cuda.Major() && !b.Env.NotYet(p.Name) {
				list = append(list, p.Name)
			}
		}
	}
	return list
}

// frameworkNames are the frameworks' own names.
var frameworkNames = map[string]string{"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}

// whyNone names the first condition that no row of the build's framework meets.
func whyNone(m *model.Machine, b *model.Build) string {
	left := m.FrameworkRows(b.Name)
	python := version.ShortPython(b.Interpreter)
	for _, c := range []struct {
		words string
		meets func(model.Row) bool
	}{
		{"is for Python " + python, func(r model.Row) bool { return python == "" || slices.Contains(r.Python, python) }},
		{"is for glibc " + pin.Quoted(m.Facts.System.Libc), func(r model.Row) bool { return hasGlibc(m, r) }},
		{"is without a known fault", func(r model.Row) bool { return !faulty(m, b, r) }},
		{"has machine code for " + pin.Quoted(gpuWords(m)), func(r model.Row) bool { return hasCode(m, r) }},
		{"runs on " + pin.Quoted(m.DriverWords()), func(r model.Row) bool { return !m.DriverTold() || m.Reached(r.CUDA) && compiles(m, r) }},
	} {
		before := len(left)
		left = slices.DeleteFunc(left, func(r model.Row) bool { return !c.meets(r) })
		if len(left) == 0 && before > 0 {
			return "no " + frameworkNames[b.Name] + " wheel in the tables " + c.words + " and fits the rest of this machine"
		}
	}
	why := "the tables have no " + frameworkNames[b.Name] + " wheel for " + m.Platform
	if m.Windows() {
		why += "; " + inWSL
	}
	return why
}

// gpuWords returns the GPUs for a sentence, each kind once.
func gpuWords(m *model.Machine) string {
	if len(m.GPUs) == 0 {
		return "no GPU"
	}
	var labels []string
	for _, g := range m.GPUs {
		if !slices.Contains(labels, g.Label) {
			labels = append(labels, g.Label)
		}
	}
	return verdict.JoinAnd(labels)
}
