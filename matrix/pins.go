package matrix

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// torchIndex is PyTorch's own package index of one variant.
func torchIndex(variant string) string { return "https://download.pytorch.org/whl/" + variant }

// pins says what to install instead of a build that does not run here: the same framework in a variant that runs on
// this driver, these GPUs and this Python, else the nearest release. steps say why there is none, or what else helps.
func (m *machine) pins(b *build) (pins []Pin, steps []pin.Step) {
	if m.policy.NoPins {
		return nil, nil
	}
	if b.Origin == "image" {
		return nil, m.imageSteps()
	}
	if b.named != nil && b.named.torch != "" && m.t.Trait("pins-torch", b.Name, version.Number{}) {
		return m.enginePins(b)
	}
	if !slices.Contains(Frameworks(), b.Name) {
		return nil, []pin.Step{pin.Say("install a build of " + pin.Said(b.Name) + " for this driver and these GPUs")}
	}
	if pins = m.frameworkPins(b); len(pins) == 0 {
		steps = []pin.Step{pin.Say(m.whyNone(b))}
		if list := m.enginesIn(b.env); b.Name == "torch" && len(list) > 0 && len(m.ranked(b)) > 0 {
			steps = []pin.Step{pin.Say(m.noEngine(list[0].Name))}
		}
	}
	return pins, steps
}

// frameworkPins picks what to install instead: of the same release the variants that run here, those nearest to the
// driver's own CUDA first; else the one of the nearest release.
func (m *machine) frameworkPins(b *build) []Pin { return m.pinsAmong(b, m.ranked(b)) }

// pinsAmong picks from some rows, the nearest first.
func (m *machine) pinsAmong(b *build, candidates []row) []Pin {
	if list := m.enginesIn(b.env); b.Name == "torch" && len(list) > 0 {
		return m.withEngines(b, list, candidates)
	}
	if len(candidates) == 0 {
		return nil
	}
	best := candidates[0]
	pins := []Pin{m.frameworkPin(b, best)}
	if len(candidates) > 1 && candidates[1].Release == best.Release {
		pins = append(pins, m.frameworkPin(b, candidates[1]))
	}
	return pins
}

// runnable are the rows of the build's framework that this machine can run; where some of them also compile for its
// GPUs at run time, only those.
func (m *machine) runnable(b *build) []row {
	key := asked{framework: b.Name, python: version.ShortPython(b.python)}
	return slices.Clone(m.worked.rows(key, func() []row {
		list := slices.DeleteFunc(m.frameworkRows(b.Name), func(r row) bool { return !m.runs(b, r) })
		if slices.ContainsFunc(list, m.assembles) {
			list = slices.DeleteFunc(list, func(r row) bool { return !m.assembles(r) })
		}
		return list
	}))
}

// ranked are the runnable rows, the nearest to the build's release first.
func (m *machine) ranked(b *build) []row {
	if m.policy.NoPins {
		return nil
	}
	key := asked{framework: b.Name, python: version.ShortPython(b.python), release: b.release.Number.String()}
	if key.release == "" {
		key.release = "the newest"
	}
	return m.worked.rows(key, func() []row {
		list := m.runnable(b)
		m.rankRows(b, list)
		return list
	})
}

// worked is what was worked out for one build and holds for every other that asks the same.
type worked struct{ lists map[asked][]row }

// asked is what rows depend on, beside the machine.
type asked struct {
	framework, python string // of the build
	release           string // that has to go with it; empty: any
}

// mostWorked is how many lists are kept: a file with 1,900 releases of torch would keep as many copies of its table.
const mostWorked = 32

// rows works a list out once: 4,000 lines of torch in one file ask the same.
func (w *worked) rows(key asked, work func() []row) []row {
	list, ok := w.lists[key]
	if !ok {
		list = work()
		if w.lists == nil || len(w.lists) == mostWorked {
			w.lists = map[asked][]row{}
		}
		w.lists[key] = list
	}
	return list
}

// runs asks of a row what Check would ask of it once it is installed.
func (m *machine) runs(b *build, r row) bool {
	return m.fits(b, r) && m.reached(r.CUDA) && m.hasCode(r)
}

// fits reports whether the environment takes the row's wheels: its Python, its C library, and that they are worth
// taking.
func (m *machine) fits(b *build, r row) bool {
	python := version.ShortPython(b.python)
	return (python == "" || slices.Contains(r.Python, python)) && m.hasGlibc(r) && !m.faulty(b, r)
}

// faulty reports whether an advisory speaks of the release itself, whatever the machine: of such a release there is no
// pin.
func (m *machine) faulty(b *build, r row) bool {
	speaks := func(c tables.Clause) bool {
		switch c.Name {
		case r.framework:
			return c.Allowed.Has(r.number)
		case "python":
			python := version.Of(version.ShortPython(b.python))
			return python.Known() && c.Allowed.Has(python)
		}
		return false
	}
	return slices.ContainsFunc(tables.Rows[tables.Advisory](m.t), func(a tables.Advisory) bool {
		return !slices.ContainsFunc(a.When.Clauses, func(c tables.Clause) bool { return !speaks(c) })
	})
}

// hasGlibc reports whether the C library loads a row's wheels: no manylinux wheel loads with musl, and a C library that
// is not known rules nothing out.
func (m *machine) hasGlibc(r row) bool {
	return m.f.System.Libc != "musl" && !(m.libc.Known() && m.libc.Less(r.Glibc))
}

// reached reports whether the driver is at or above a CUDA's floor.
func (m *machine) reached(cuda version.Number) bool {
	state, _, _ := m.floor(cuda)
	return state == floorFull || state == floorMinor
}

// hasCode reports whether the row has machine code for every GPU that is known here, that no part of it lacks code or
// has only PTX that the driver cannot compile, and that its cuDNN has code: torch 2.4 and newer still carry code for a
// K80, and the cuDNN 9 that they bring does not.
func (m *machine) hasCode(r row) bool {
	least := m.t.CuDNNLeast(r.CuDNN)
	for _, g := range m.kinds {
		if !g.capability.Known() || version.Cover(r.SASS, nil, g.capability) != version.BySASS ||
			!g.capability.AtLeast(least) || !m.hasParts(r, g.capability) {
			return false
		}
	}
	return true
}

// hasParts reports whether every part of a row's build runs on a GPU with this driver.
func (m *machine) hasParts(r row, gpu version.Capability) bool {
	list := r.parts()
	return unserved(list, gpu) == nil && !slices.ContainsFunc(list, func(p part) bool {
		newer, _ := m.newerPTX(r.CUDA, p.PTXFor(gpu))
		return p.Cover(gpu) == version.ByPTX && newer
	})
}

// rankRows sorts by nearness: first what a file's range allows, then of the release, then of the CUDA to the driver's
// own.
func (m *machine) rankRows(b *build, list []row) {
	releases := m.releases(b.Name)
	wanted, exact := slices.BinarySearchFunc(releases, b.release.Number, version.Number.Compare)
	if !b.release.Number.Known() { // nothing to stay near to: the newest
		wanted, exact = len(releases), true
	}
	distance := func(r row) int {
		at, _ := slices.BinarySearchFunc(releases, r.number, version.Number.Compare)
		d := at - wanted
		switch {
		case exact:
		case strings.HasPrefix(r.Release, b.release.Number.String()+"."):
			return 0 // 2.16.2 is one of 2.16
		case d >= 0:
			d++ // a release that the table does not know stands before the next one
		}
		return max(d, -d)
	}
	allowed, err := version.ParseSpecifiers(b.Specifier)
	outside := func(r row) int {
		if err == nil && !b.release.Number.Known() && !allowed.Has(r.Release) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(x, y row) int {
		if c := outside(x) - outside(y); c != 0 {
			return c
		}
		if c := distance(x) - distance(y); c != 0 {
			return c
		}
		if c := y.number.Compare(x.number); c != 0 {
			return c // of two as near, the newer
		}
		return m.cudaDistance(x.CUDA) - m.cudaDistance(y.CUDA)
	})
}

// cudaDistance is how far a CUDA is from the driver's own, in minor versions; ten make a family.
func (m *machine) cudaDistance(cuda version.Number) int {
	d := (cuda.Major()-m.driver().cuda.Major())*10 + cuda.Minor() - m.driver().cuda.Minor()
	return max(d, -d)
}

// releases is every release of a framework's table once, oldest first.
func (m *machine) releases(framework string) []version.Number {
	list, ok := m.released[framework]
	if ok {
		return list
	}
	for _, r := range m.frameworkRows(framework) {
		if len(list) == 0 || list[len(list)-1].Compare(r.number) != 0 {
			list = append(list, r.number)
		}
	}
	m.released[framework] = list
	return list
}

// frameworkPin writes the commands. Companions that are installed come along, or they would break.
func (m *machine) frameworkPin(b *build, r row) Pin {
	list := []pin.Package{r.requirement()}
	for _, c := range r.companions {
		if local, ok := m.companionFor(c, r); ok && c.Package != "triton" && b.env.Package(c.Package) != nil {
			list = append(list, local)
		}
	}
	list = append(list, m.chosenLibraries(r)...)
	return Pin{Package: r.framework, Version: list[0].Version, Why: "keeps the driver",
		Commands: installCommands(b, r, list)}
}

// installCommands are pip's and uv's words for a list of packages of one row's variant.
func installCommands(b *build, r row, list []pin.Package) map[string]string {
	index := ""
	if r.framework == "torch" {
		index = torchIndex(r.Variant)
	}
	return b.commands(r.CUDA, list, index)
}

// commands install a list of packages for one CUDA, after the wheels that own the same files for another are gone.
func (b *build) commands(cuda version.Number, list []pin.Package, index string, drop ...string) map[string]string {
	install := pin.Install{Remove: append(b.otherFamily(cuda), drop...), Index: index}
	for _, p := range list {
		install.Packages = append(install.Packages, p.Spec())
		// What is there already is left alone, unless an installer is told to write it again.
		install.Again = install.Again || b.Path != "" && p.Package == b.Name && p.Version == b.Version
	}
	return b.env.install(install)
}

// otherFamily are the installed wheels that own the same files as those of the new CUDA family: left in place, they
// would take the new files with them when they are removed.
func (b *build) otherFamily(cuda version.Number) []string {
	var list []string
	for _, s := range b.env.shared {
		for _, p := range s.wheels {
			if p.family().Major() != cuda.Major() {
				list = append(list, p.Name)
			}
		}
	}
	return list
}

// spoken are the frameworks' own names.
var spoken = map[string]string{"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}

// whyNone names the first condition that no row of the build's framework meets.
func (m *machine) whyNone(b *build) string {
	left := m.frameworkRows(b.Name)
	python := version.ShortPython(b.python)
	for _, c := range []struct {
		words string
		meets func(row) bool
	}{
		{"is for Python " + python, func(r row) bool { return python == "" || slices.Contains(r.Python, python) }},
		{"is for glibc " + pin.Said(m.f.System.Libc), m.hasGlibc},
		{"is without a known fault", func(r row) bool { return !m.faulty(b, r) }},
		{"has machine code for " + pin.Said(m.gpuWords()), m.hasCode},
		{"runs on " + pin.Said(m.driverWords()), func(r row) bool { return m.reached(r.CUDA) }},
	} {
		before := len(left)
		left = slices.DeleteFunc(left, func(r row) bool { return !c.meets(r) })
		if len(left) == 0 && before > 0 {
			return "no " + spoken[b.Name] + " wheel in the tables " + c.words + " and fits the rest of this machine"
		}
	}
	return "the tables have no " + spoken[b.Name] + " wheel for " + m.platform
}

// gpuWords are the GPUs for a sentence, each kind once.
func (m *machine) gpuWords() string {
	if len(m.gpus) == 0 {
		return "no GPU"
	}
	var labels []string
	for _, g := range m.gpus {
		if !slices.Contains(labels, g.label) {
			labels = append(labels, g.label)
		}
	}
	return joinAnd(labels)
}
