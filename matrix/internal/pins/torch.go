// Package pins computes what to install on a machine: the release of a framework, its companions and engines, and the
// driver, each with the commands for this system and environment.
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

// TorchIndex returns PyTorch's own package index for a variant.
func TorchIndex(variant string) string { return "https://download.pytorch.org/whl/" + variant }

// ForBuild says what to install instead of a build that does not run here: the same framework in a variant that runs on
// this driver, these GPUs and this Python, otherwise the nearest release. If there is none, steps say why, or what else
// helps.
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
		steps = []pin.Step{pin.Say(elsewhere + whyNone(m, b))}
		if list := EnginesIn(m, b.Env); b.Name == "torch" && len(list) > 0 && len(Ranked(m, b)) > 0 {
			steps = []pin.Step{pin.Say(elsewhere + noEngine(m, list[0].Name))}
		}
	}
	return pins, steps
}

// frameworkPins picks what to install instead: the variants of the same release that run here, those nearest to the
// driver's own CUDA first, otherwise one of the nearest release.
func frameworkPins(m *model.Machine, b *model.Build) []verdict.Pin { return Among(m, b, Ranked(m, b)) }

// Among picks from the given rows, nearest first.
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

// runnable returns the rows of the build's framework that this machine can run. If some of them also compile for its
// GPUs at run time, it returns only those.
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

// Ranked returns the runnable rows, nearest to the build's release first.
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

// runs checks a row as Check would after its installation. An unknown driver excludes nothing.
func runs(m *model.Machine, b *model.Build, r model.Row) bool {
	return fits(m, b, r) && (!m.DriverTold() || m.Reached(r.CUDA)) && HasCode(m, r) && CompilesPTX(m, r)
}

// targetsWithout returns the other targets on which a row does not run.
func targetsWithout(m *model.Machine, r model.Row) []string {
	var names []string
	for _, o := range m.Beside {
		if !HasCode(o, r) || !CompilesPTX(o, r) || o.DriverTold() && !o.Reached(r.CUDA) {
			names = append(names, o.Name)
		}
	}
	return names
}

// whyRow says what a row costs: the driver that its CUDA needs, if the present one is too old or unknown, and the other
// targets that it does not support.
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

// fits reports whether the environment accepts the row's wheels, by Python and C library, and no advisory speaks
// against them.
func fits(m *model.Machine, b *model.Build, r model.Row) bool {
	python := version.ShortPython(b.Interpreter)
	return (python == "" || slices.Contains(r.Python, python)) && HasGlibc(m, r) && !IsFaulty(m, b, r)
}

// IsFaulty reports whether an advisory concerns the release itself on every machine. Such a release is never pinned.
func IsFaulty(m *model.Machine, b *model.Build, r model.Row) bool {
	speaks := func(c tables.Clause) bool {
		switch c.Name {
		case r.Framework:
			return c.Allowed.Has(r.Number)
		case "python":
			python := version.ParseOrZero(version.ShortPython(b.Interpreter))
			return python.Known() && c.Allowed.Has(python)
		}
		return false
	}
	return slices.ContainsFunc(tables.Rows[tables.Advisory](m.Tables), func(a tables.Advisory) bool {
		return !slices.ContainsFunc(a.When.Clauses, func(c tables.Clause) bool { return !speaks(c) })
	})
}

// HasGlibc reports whether the C library loads a row's wheels. No manylinux wheel loads with musl. An unknown C library
// excludes nothing.
func HasGlibc(m *model.Machine, r model.Row) bool {
	return m.Facts.System.Libc != "musl" && !(m.Libc.Known() && m.Libc.Less(r.Glibc))
}

// HasCode reports whether a row supports every known GPU on some driver: the row has machine code for the GPU, each of
// its parts has machine code or PTX, and so has its cuDNN. (torch 2.4 and newer still have code for a K80, but their
// cuDNN 9 does not.)
func HasCode(m *model.Machine, r model.Row) bool {
	least := m.Tables.CuDNNLeast(r.CuDNN)
	for _, g := range m.Kinds {
		if !g.Capability.Known() || version.Cover(r.SASS, nil, g.Capability) != version.BySASS ||
			!g.Capability.AtLeast(least) || model.Unserved(r.Parts(), g.Capability) != nil {
			return false
		}
	}
	return true
}

// CompilesPTX reports whether the driver can compile the parts of a row that have only PTX for a GPU.
func CompilesPTX(m *model.Machine, r model.Row) bool {
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
	return reaches(m, b, r.CUDA) && (len(r.Parts()) == 0 || CompilesPTX(m.On(b.Newest), r))
}

// rankRows sorts rows: first by what a file's range allows, then by nearness to the release, by the other targets that
// they support, and by the distance between their CUDA and the driver's.
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
		ranks[i] = rank{r, outside(r), distance(r), len(targetsWithout(m, r)), CUDADistance(m, r.CUDA)}
	}
	slices.SortStableFunc(ranks, rank.compare)
	for i, r := range ranks {
		list[i] = r.row
	}
}

// rank is a row with its costs. Less is better.
type rank struct {
	row      model.Row
	outside  int // 1: the file's range does not take it
	distance int // in releases, from the build's
	unserved int // other targets on which it does not run
	cuda     int // as CUDADistance has it
}

// compare puts the better of two rows first. If they cost the same, it puts the newer first.
func (r rank) compare(o rank) int {
	return cmp.Or(r.outside-o.outside, r.distance-o.distance, r.unserved-o.unserved, o.row.Number.Compare(r.row.Number), r.cuda-o.cuda)
}

// CUDADistance returns the distance between a CUDA and the driver's own, in minor versions. A major version counts as
// ten.
func CUDADistance(m *model.Machine, cuda version.Number) int {
	d := (cuda.Major()-m.Driver().CUDA.Major())*10 + cuda.Minor() - m.Driver().CUDA.Minor()
	return max(d, -d)
}

// Releases returns the releases in a framework's table without duplicates, oldest first.
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

// frameworkPin returns the commands for a row. They also change the installed companions, which would break otherwise.
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

// installCommands returns the commands of pip and uv for a list of packages in one row's variant.
func installCommands(b *model.Build, r model.Row, list []pin.Package) map[string]string {
	index := ""
	if r.Framework == "torch" {
		index = TorchIndex(r.Variant)
	}
	return Commands(b, r.CUDA, list, index, b.Env.FrameworkTwins(b.Name)...)
}

// Commands returns the commands that install a list of packages for one CUDA, after removing the wheels for another
// CUDA that own the same files.
func Commands(b *model.Build, cuda version.Number, list []pin.Package, index string, drop ...string) map[string]string {
	install := pin.Install{Remove: append(WheelsOfOtherFamily(b, cuda), drop...), Index: index}
	for _, p := range list {
		install.Packages = append(install.Packages, p.Spec())
		// An installer skips a package that is installed, unless told to reinstall it.
		install.Again = install.Again || b.Path != "" && p.Package == b.Name && p.Version == b.Version
	}
	return Install(b.Place(), install)
}

// WheelsOfOtherFamily returns the installed wheels that own the same files as those for the new CUDA major version.
// Removing them later would remove the new files.
func WheelsOfOtherFamily(b *model.Build, cuda version.Number) []string {
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

// frameworkNames maps a framework's package to its proper name.
var frameworkNames = map[string]string{"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}

// elsewhere begins a step for which the tables have no build.
const elsewhere = "look for another build: "

// whyNone names the first condition that no row of the build's framework meets.
func whyNone(m *model.Machine, b *model.Build) string {
	left := m.FrameworkRows(b.Name)
	python := version.ShortPython(b.Interpreter)
	for _, c := range []struct {
		words string
		meets func(model.Row) bool
	}{
		{"is for Python " + python, func(r model.Row) bool { return python == "" || slices.Contains(r.Python, python) }},
		{"is for glibc " + pin.Quoted(m.Facts.System.Libc), func(r model.Row) bool { return HasGlibc(m, r) }},
		{"is without a known fault", func(r model.Row) bool { return !IsFaulty(m, b, r) }},
		{"has machine code for " + pin.Quoted(GPUWords(m)), func(r model.Row) bool { return HasCode(m, r) }},
		{"runs on " + pin.Quoted(m.DriverWords()), func(r model.Row) bool { return !m.DriverTold() || m.Reached(r.CUDA) && CompilesPTX(m, r) }},
	} {
		before := len(left)
		left = slices.DeleteFunc(left, func(r model.Row) bool { return !c.meets(r) })
		if len(left) == 0 && before > 0 {
			why := "no " + frameworkNames[b.Name] + " wheel in the tables " + c.words + " and fits the rest of this machine"
			switch {
			case m.Jetson() && !m.L4T():
				why += "; JetPack 7, the first for " + GPUWords(m) + ", has driver branch 580"
			case m.Jetson():
				why += "; NVIDIA's wheels for JetPack are not in the tables: " + pin.ForJetson
			}
			return why
		}
	}
	why := "the tables have no " + frameworkNames[b.Name] + " wheel for " + m.Platform
	if m.Windows() {
		why += "; " + model.InWSL
	}
	return why
}

// GPUWords names the GPUs without duplicates, as part of a sentence.
func GPUWords(m *model.Machine) string {
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
