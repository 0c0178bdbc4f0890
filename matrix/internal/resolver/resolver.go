// Package resolver picks releases from the tables that fit together on a machine: one set that has every package that
// somebody wants, and the sets for an inference engine, whose every release requires one torch.
//
// It tries the newest framework first and takes the first set that passes the checker. If there is none, it says which
// wishes and which properties of the machine exclude each other. Package pins answers for a single package or driver.
package resolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Refuses says why the check of a machine rejects a set, or returns "" if it accepts it.
type Refuses func(pin.Set, hardware.Target) string

// maxChecked limits how many sets are checked. Usually the rows have decided before that.
const maxChecked = 64

// PinsWanted picks one set of releases from the tables that contains everything in wants, the newest framework first.
// It takes the first set that the check accepts. If there is none, Missing says which wishes and properties of the
// machine exclude each other.
func PinsWanted(t *tables.Tables, f facts.Facts, target hardware.Target, wants []pin.Want, refuses Refuses) pin.Sets {
	f.Complete()
	m := model.NewMachine(t, &f, target, verdict.Policy{})
	sets := emptySets(m, wants)
	if len(m.GPUs) == 0 {
		return sets
	}
	sets.Ends = pins.FindEnds(m, wants[0].Package)
	if !m.Driver().Version.Known() && !m.Windows() && !m.Jetson() {
		// There is no driver to keep, so the set names the one that it needs.
		e := engineSets{Engine: &Engine{want: wants, refuses: refuses, asked: map[string]engineSet{}}, m: m, sets: sets}
		e.lowest(pin.Together)
		return e.sets
	}
	set, none := together(m, wants, refuses)
	if none != nil {
		sets.Missing = append(sets.Missing, *none)
	} else {
		sets.Sets = append(sets.Sets, set)
	}
	return sets
}

// emptySets returns the answer for some wants before any set is known.
func emptySets(m *model.Machine, wants []pin.Want) pin.Sets {
	b := pins.NewWantedBuild(m, pin.Wanted{})
	sets := pin.Sets{Schema: pin.Schema, Target: pins.DescribeTarget(m, b, pin.Wanted{}), Sets: []pin.Set{}, Missing: []pin.None{}, Ends: []pin.End{}}
	for _, one := range wants {
		sets.Target.Wanted = append(sets.Target.Wanted, one.String())
	}
	return sets
}

// together picks the set with everything that is wanted on the machine's driver, or says why there is none.
func together(m *model.Machine, wants []pin.Want, refuses Refuses) (pin.Set, *pin.None) {
	none := func(why string, source []string) (pin.Set, *pin.None) {
		return pin.Set{}, &pin.None{Choice: pin.Together, Why: why, Source: verdict.OrEmpty(source)}
	}
	switch {
	case !m.Driver().Version.Known():
		return pin.Set{}, noneByDriver(cmp.Or(pins.ExplainDriver(m), "the driver is unknown (add --driver)"))
	case !pins.DrivesGPUs(m, m.Driver().Version):
		return pin.Set{}, noneByDriver(pins.ExplainDriver(m))
	}
	if why := noWheelHere(m, wants); why != "" {
		return none(why, nil)
	}
	w := wishesOf(m, wants)
	asked, refused := 0, ""
	for _, c := range w.combinations(w.frameworks(w.all())) {
		picked, ok := w.pick(c)
		if !ok {
			continue
		}
		set := w.set(c, picked)
		why := refuses(set, targetOf(m, w.b))
		if why == "" {
			return set, nil
		}
		refused = cmp.Or(refused, why)
		if asked++; asked == maxChecked {
			break
		}
	}
	if refused != "" {
		return none("no set of the rows passes the check; of the newest: "+refused, nil)
	}
	return none(w.conflict())
}

// noneByDriver returns the None whose reason is the driver.
func noneByDriver(why string) *pin.None {
	return &pin.None{Choice: pin.Together, Why: why, Source: []string{}, Driver: true}
}

// noWheelHere says of a wanted package that it has no wheel for this platform; empty where each may have one.
func noWheelHere(m *model.Machine, wants []pin.Want) string {
	for _, w := range wants {
		if why := m.NoWindowsWheel(w.Package, ""); why != "" {
			return why
		}
	}
	return ""
}

// targetOf returns the machine as a target for the check of a set, so that only what concerns the set is checked.
func targetOf(m *model.Machine, b *model.Build) hardware.Target {
	t := hardware.Target{Instance: m.Target.Instance, Driver: m.Driver().Version.String(), Python: b.Interpreter}
	if t.Instance == "" {
		for _, g := range m.GPUs {
			name := gpuNamed(m.Target, g)
			t.GPUs = append(t.GPUs, name)
		}
	}
	return t
}

// gpuNamed returns a GPU in the form of --gpu.
func gpuNamed(target hardware.Target, g hardware.GPU) string {
	if g.Chip != nil && g.Name != "" {
		return g.Name
	}
	return g.Capability.String()
}

// property is a property of the machine that excludes a row. Each has one bit.
type property uint

const (
	byDriver property = 1 << iota
	byGPU
	byPython
	byGlibc
)

var properties = []property{byDriver, byGPU, byPython, byGlibc}

// wishes collects the packages that one set must contain.
type wishes struct {
	m    *model.Machine
	b    *model.Build // stands for what is to be installed, in the environment that counts
	list []*wish
	rows map[string][]framework // by the framework's name
	// defaults maps a PyTorch release to its variant on the installer's own index.
	defaults map[string]string
	pythons  map[string]bool // whether the Python is one of a row's
}

// framework is the row of a framework, with the properties of the machine that exclude it.
type framework struct {
	model.Row
	not property
}

// wish is one package that is wanted.
type wish struct {
	pin.Want
	allowed version.Specifiers
	needs   string             // the framework that it is, or runs in; empty: none
	rows    []tables.Extension // its releases that are allowed and have a wheel, the newest first
	all     int                // how many rows the tables have of it
	options map[string][]option
}

// option is one release of a wish beside one row of its framework.
type option struct {
	pin.Package
	index  string // that has it, if that is its project's own
	unread bool   // nobody has read its machine code
	not    property
	source []string
}

// combination has one row for every framework that the wishes need.
type combination []framework

func wishesOf(m *model.Machine, wants []pin.Want) *wishes {
	w := &wishes{m: m, rows: map[string][]framework{}, defaults: map[string]string{}, pythons: map[string]bool{}}
	for _, want := range wants {
		one := &wish{Want: want, options: map[string][]option{}}
		one.allowed, _ = version.ParseSpecifiers(want.Specifier)
		one.needs = frameworkFor(m, want.Package)
		if slices.Contains(model.Frameworks(), one.needs) && one.needs != want.Package || one.needs == "" {
			one.rows, one.all = releasesOf(m, one)
		}
		w.list = append(w.list, one)
	}
	names := w.frameworks(w.all())
	w.b = pins.NewWantedBuild(m, pin.Wanted{Framework: cmp.Or(strings.Join(names[:min(1, len(names))], ""), "torch")})
	for _, name := range names {
		w.rows[name] = w.rowsOf(name)
	}
	return w
}

func (w *wishes) all() []int {
	list := make([]int, len(w.list))
	for i := range list {
		list[i] = i
	}
	return list
}

// HasPackage reports whether the tables know a package.
func HasPackage(t *tables.Tables, name string) bool {
	return slices.Contains(model.Frameworks(), name) || t.Trait("companion", name, version.Number{}) || name == "triton" ||
		len(tables.RowsOf[tables.Extension](t, name)) > 0 || len(tables.RowsOf[tables.Package](t, name)) > 0
}

// IsSpecifier reports whether a text is a range of a Python package's releases, ">=2.8,<2.10". The empty text allows
// all releases.
func IsSpecifier(text string) bool { _, err := version.ParseSpecifiers(text); return err == nil }

// PackageNames returns the names of all packages that the tables know.
func PackageNames(t *tables.Tables) []string {
	names := slices.Concat(model.Frameworks(), t.ListWithTrait("companion"), []string{"triton"})
	for _, e := range tables.Rows[tables.Extension](t) {
		names = append(names, e.Package)
	}
	for _, p := range tables.Rows[tables.Package](t) {
		names = append(names, p.Package)
	}
	return names
}

// frameworkFor returns the framework that a package is or runs in, or "" if it uses CUDA by itself or not at all.
func frameworkFor(m *model.Machine, name string) string {
	if slices.Contains(model.Frameworks(), name) {
		return name
	}
	if m.Tables.Trait("companion", name, version.Number{}) || name == "triton" {
		return "torch"
	}
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, name) {
		if len(e.Torch) > 0 {
			return "torch"
		}
	}
	if p := m.PackageOf(name); p != nil && slices.Contains(model.Frameworks(), p.Uses) {
		return p.Uses
	}
	return ""
}

// releasesOf returns the rows that a wish allows and that can be installed directly: from the package index, or from
// the project's releases. all is the number of its rows in the tables.
func releasesOf(m *model.Machine, w *wish) (list []tables.Extension, all int) {
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, w.Package)) {
		all++
		release, _ := version.ParseRelease(e.Release)
		if (w.allowed.Has(e.Release) || w.allowed.Has(e.Published())) && (release.Final() || w.Specifier != "") && pins.IsInstallable(m, e) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b tables.Extension) int { return pins.CompareReleases(b.Release, a.Release) })
	return list, all
}

// frameworks returns the frameworks that some of the wishes need.
func (w *wishes) frameworks(some []int) []string {
	var names []string
	for _, name := range model.Frameworks() {
		if slices.ContainsFunc(some, func(i int) bool { return w.list[i].needs == name }) {
			names = append(names, name)
		}
	}
	return names
}

// rowsOf returns the rows of a framework that the wishes allow, newest first. Of one release it puts the row on the
// installer's own index first.
func (w *wishes) rowsOf(name string) []framework {
	m := w.m
	var list []framework
	for _, r := range m.FrameworkRows(name) {
		if pins.IsFaulty(m, w.b, r) {
			continue
		}
		f := framework{Row: r}
		f.exclude(byDriver, !m.Reached(r.CUDA) || !pins.CompilesPTX(m, r))
		f.exclude(byGPU, !pins.HasCode(m, r))
		f.exclude(byGlibc, !pins.HasGlibc(m, r))
		python := version.ShortPython(w.b.Interpreter)
		f.exclude(byPython, python != "" && !slices.Contains(r.Python, python))
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(x, y framework) int {
		if c := y.Number.Compare(x.Number); c != 0 {
			return c
		}
		if w.isDefault(x.Row) != w.isDefault(y.Row) {
			return map[bool]int{true: -1, false: 1}[w.isDefault(x.Row)]
		}
		return pins.CUDADistance(m, x.CUDA) - pins.CUDADistance(m, y.CUDA)
	})
	return list
}

func (f *framework) exclude(p property, yes bool) {
	if yes {
		f.not |= p
	}
}

// isDefault reports whether the installer's own index has a row.
func (w *wishes) isDefault(r model.Row) bool {
	if r.Framework != "torch" {
		return true
	}
	variant, ok := w.defaults[r.Release]
	if !ok {
		release, _ := version.ParseRelease(r.Release)
		variant = w.m.DefaultVariant("torch", release)
		w.defaults[r.Release] = variant
	}
	return r.Variant == variant
}

// combinations returns the rows of frameworks that can share an environment. If no framework is needed, it returns one
// empty combination.
func (w *wishes) combinations(names []string) []combination {
	list := []combination{nil}
	for _, name := range names {
		var longer []combination
		for _, c := range list {
			for _, f := range w.rows[name] {
				if !slices.ContainsFunc(c, func(other framework) bool { return !shareLibraries(other.Row, f.Row) }) {
					longer = append(longer, append(slices.Clone(c), f))
				}
			}
		}
		list = longer
	}
	return list
}

// shareLibraries reports whether two frameworks can be installed together: they have one CUDA major version, and the
// cuDNN and NCCL that one brings are in the range that the other requires.
func shareLibraries(a, b model.Row) bool {
	if a.CUDA.Major() != b.CUDA.Major() {
		return false
	}
	for _, pair := range [][2]model.Row{{a, b}, {b, a}} {
		for name, brings := range map[string]version.Number{"cudnn": pair[0].CuDNN, "nccl": pair[0].NCCL} {
			asked := pair[1].Asks(fmt.Sprintf("nvidia-%s-cu%d", name, a.CUDA.Major()))
			if ok, err := version.Allows(asked, brings); len(pair[0].Packages) == 0 && asked != "" && brings.Known() && err == nil && !ok {
				return false
			}
		}
	}
	return true
}

// pick returns the newest release of every wish in a combination, or false if a wish has none.
func (w *wishes) pick(c combination) ([]option, bool) {
	var list []option
	for _, f := range c {
		if f.not != 0 {
			return nil, false
		}
	}
	for _, one := range w.list {
		options := w.optionsOf(one, c)
		i := slices.IndexFunc(options, func(o option) bool { return o.not == 0 })
		if i < 0 {
			return nil, false
		}
		list = append(list, options[i])
	}
	return list, true
}

// optionsOf returns the releases of a wish that fit a combination, newest first.
func (w *wishes) optionsOf(one *wish, c combination) []option {
	i := slices.IndexFunc(c, func(f framework) bool { return f.Framework == one.needs })
	key := ""
	if i >= 0 {
		key = c[i].Release + " " + c[i].Variant
	} else if len(c) > 0 {
		key = fmt.Sprint("family ", c[0].CUDA.Major())
	}
	list, known := one.options[key]
	if !known {
		switch {
		case i >= 0:
			list = w.inside(one, c[i].Row)
		default:
			list = w.independentReleases(one, c)
		}
		one.options[key] = list
	}
	return list
}

// inside returns the releases of a wish for one row of its framework.
func (w *wishes) inside(one *wish, r model.Row) []option {
	m := w.m
	if one.Package == r.Framework {
		own := w.requirement(r)
		if !one.allowed.Has(own.Version) && !one.allowed.Has(r.Release+"+"+r.Variant) {
			return nil
		}
		return []option{{Package: own, source: r.Source}}
	}
	if i := slices.IndexFunc(r.Companions, func(p pin.Package) bool { return p.Package == one.Package }); i >= 0 {
		local, ok := pins.CompanionFor(m, r.Companions[i], r)
		public, _, _ := strings.Cut(local.Version, "+")
		if ok && (one.allowed.Has(public) || one.allowed.Has(local.Version)) {
			if w.isDefault(r) {
				local.Version = public
			}
			return []option{{Package: local, source: r.Source}}
		}
	}
	if one.all == 0 {
		return []option{{Package: pin.Package{Package: one.Named(), Specifier: one.Specifier}}}
	}
	var list []option
	for _, e := range one.rows {
		if !w.goesWith(e, r) {
			continue
		}
		o := option{Package: pin.Package{Package: one.Named(), Version: e.Published()}, source: e.Source, index: e.Index(), unread: len(e.SASS) == 0}
		w.fetch(&o, e, r)
		o.not |= w.exclusion(e)
		list = append(list, o)
	}
	return list
}

// requirement returns a row as its index lists it: the installer's own index has no local versions.
func (w *wishes) requirement(r model.Row) pin.Package {
	own := r.Requirement()
	if w.isDefault(r) {
		own.Version, _, _ = strings.Cut(own.Version, "+")
	}
	return own
}

// goesWith reports whether a release runs in a row's torch. An engine requires its torch by release, so one index must
// have the pair: the installer's own, or the project's beside PyTorch's for that variant. A package that a project
// compiled for a torch runs in every patch of it.
func (w *wishes) goesWith(e tables.Extension, r model.Row) bool {
	m := w.m
	if m.Tables.Trait("pins-torch", e.Package, version.Number{}) {
		if e.Index() != "" {
			return e.Variant == r.Variant && pins.TakesTorch(m, e, r)
		}
		return w.isDefault(r) && pins.TakesTorch(m, e, r)
	}
	return pins.LoadsBeside(m, e, r)
}

// exclusion returns the properties of the machine that exclude a release's wheel.
func (w *wishes) exclusion(e tables.Extension) property {
	var f framework
	python := version.ShortPython(w.b.Interpreter)
	f.exclude(byPython, python != "" && !w.takesPython(e, python))
	f.exclude(byGlibc, !pins.LoadsWheel(w.m, e))
	f.exclude(byGPU, len(e.SASS) > 0 && !w.m.Tables.Trait("dispensable", e.Package, version.Number{}) && slices.ContainsFunc(w.m.Kinds,
		func(g hardware.GPU) bool { return version.Cover(e.SASS, e.PTX, g.Capability) == version.Uncovered }))
	return f.not
}

// takesPython caches pins.TakesPython, because hundreds of rows have the same range.
func (w *wishes) takesPython(e tables.Extension, python string) bool {
	key := strings.Join(e.Python, " ")
	takes, ok := w.pythons[key]
	if !ok {
		takes = pins.TakesPython(e, python)
		w.pythons[key] = takes
	}
	return takes
}

// fetch says where a release's wheel is, with its hash if a source has it. A project's release page has one wheel for
// each Python, torch and ABI.
func (w *wishes) fetch(o *option, e tables.Extension, r model.Row) {
	python := version.ShortPython(w.b.Interpreter)
	if !pins.OnReleases(e) {
		o.Wheel, o.SHA256 = wheelWithHash(e.Source, python)
		return
	}
	if python == "" {
		o.not |= byPython
		return
	}
	torch := pins.TorchOfRow(r)
	o.Wheel, o.Version, o.URL = pins.ReleaseWheel(w.m, e, torch.Release, python)
}

// hashedWheel matches a source that is a wheel.
var hashedWheel = lazyregexp.New(`^wheel (\S+-(?:py3|cp(\d+))-(none|abi3|cp\d+t?)-\S+\.whl) sha256:([0-9a-f]{64})$`)

// wheelWithHash returns the wheel for a Python among the sources, with its hash.
func wheelWithHash(sources []string, python string) (wheel, hash string) {
	for _, s := range sources {
		m := hashedWheel.FindStringSubmatch(s)
		if m != nil && (m[2] == "" || m[3] == "abi3" || python != "" && m[3] == "cp"+strings.ReplaceAll(python, ".", "")) {
			return m[1], m[4]
		}
	}
	return "", ""
}

// independentReleases returns the releases of a wish that uses CUDA by itself, those for the combination's CUDA major
// version first.
func (w *wishes) independentReleases(one *wish, c combination) []option {
	if one.all == 0 {
		return []option{{Package: pin.Package{Package: one.Named(), Specifier: one.Specifier}}}
	}
	other := func(e tables.Extension) bool { return len(c) > 0 && model.OtherFamily(e.CUDA, c[0].CUDA) }
	rows := slices.Clone(one.rows)
	slices.SortStableFunc(rows, func(x, y tables.Extension) int {
		return map[bool]int{true: 1}[other(x)] - map[bool]int{true: 1}[other(y)]
	})
	var list []option
	for _, e := range rows {
		o := option{Package: pin.Package{Package: w.addLibrariesExtra(one, e), Version: e.Release}, source: e.Source}
		if other(e) && strings.HasSuffix(o.Package.Package, "[ctk]") && c[0].CUDA.Major() >= 13 {
			continue // the wheels of CUDA 13 ask for cuda-toolkit, too, and of that there is one in an environment
		}
		w.fetch(&o, e, model.Row{})
		o.not |= w.exclusion(e)
		if cuda := e.Family(); cuda.Known() && !w.m.Reached(cuda) {
			o.not |= byDriver
		}
		list = append(list, o)
	}
	return list
}

// addLibrariesExtra adds the extra that brings the CUDA libraries, if the package has one and the wish names none.
func (w *wishes) addLibrariesExtra(one *wish, e tables.Extension) string {
	if one.Extras != "" || !w.m.Tables.Trait("cuda-from-wheels", e.Package, version.ParseOrZero(e.Release)) {
		return one.Named()
	}
	if e.Package == "onnxruntime-gpu" {
		return one.Package + "[cuda,cudnn]"
	}
	return one.Package + "[ctk]"
}

// listLacks returns what is not known of the release that was picked for a wish.
func (w *wishes) listLacks(one *wish, o option) (lacks []string) {
	if o.index != "" && o.unread {
		lacks = append(lacks, fmt.Sprintf("%s %s: its machine code was not read, since only %s has it", one.Package, o.Version, o.index))
	}
	if newer := w.newerElsewhere(one, o.Version); newer != "" {
		lacks = append(lacks, newer)
	}
	if o.Version == "" {
		lacks = append(lacks, one.Package+": the tables have no releases of it, so the installer picks one")
	}
	return lacks
}

// set returns the set of a combination: the frameworks, the wanted packages, and the installed companions.
func (w *wishes) set(c combination, picked []option) pin.Set {
	s := pin.Set{Choice: pin.Together, Packages: []pin.Package{}, Steps: []pin.Step{}, Lacks: []string{}, Source: []string{}}
	add := func(p pin.Package, source []string) {
		if !slices.ContainsFunc(s.Packages, func(have pin.Package) bool { return bareName(have.Package) == bareName(p.Package) }) {
			s.Packages = append(s.Packages, p)
			s.Source = append(s.Source, source...)
		}
	}
	for i, o := range picked {
		one := w.list[i]
		if one.Package != one.needs || one.Extras != "" && one.needs == "torch" {
			add(o.Package, o.source)
		}
		if o.index != "" {
			s.Extra = o.index
		}
		s.Lacks = append(s.Lacks, w.listLacks(one, o)...)
	}
	cuda := w.m.Driver().CUDA
	for _, f := range c {
		cuda = f.CUDA
		add(w.requirement(f.Row), f.Source)
		for _, companion := range f.Companions {
			if local, ok := pins.CompanionFor(w.m, companion, f.Row); ok && companion.Package != "triton" && w.b.Env.Package(companion.Package) != nil {
				if w.isDefault(f.Row) {
					local.Version = companion.Version
				}
				add(local, nil)
			}
		}
		for _, library := range w.m.ChosenLibraries(f.Row) {
			add(library, nil)
		}
		if !w.isDefault(f.Row) {
			s.Extra = strings.TrimSpace(s.Extra + " " + pins.TorchIndex(f.Variant))
		}
		s.Why = fmt.Sprintf("the newest %s for which each has a wheel that runs on %s", f.Framework, w.m.DriverWords())
	}
	if len(c) == 0 {
		s.Why = "the newest that run on " + w.m.DriverWords()
	}
	install := pin.Install{Extra: s.Extra, Remove: pins.WheelsOfOtherFamily(w.b, cuda)}
	for _, p := range s.Packages {
		install.Packages = append(install.Packages, p.Spec())
	}
	if len(c) > 0 {
		install.Remove = append(install.Remove, pins.InstalledForOtherCUDA(w.b, c[0].Row, s.Packages)...)
	}
	s.Commands = pins.Install(w.b.Place(), install)
	slices.Sort(s.Source)
	s.Source = slices.Compact(s.Source)
	return s
}

// newerElsewhere names a newer release of a wish that the driver would run, and says why the set does not have it: its
// project keeps parts of it on its own index, and no single command installs them. It returns "" if there is none.
func (w *wishes) newerElsewhere(one *wish, picked string) string {
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](w.m.Tables, one.Package)) {
		index := e.PartsIndex()
		if index == "" || e.Platform != w.m.Platform || !one.allowed.Has(e.Release) || pins.CompareReleases(e.Release, picked) <= 0 ||
			!w.m.Reached(e.Family()) {
			continue
		}
		return fmt.Sprintf("%s %s is newer and has parts for CUDA %s on %s, which take several steps to install; nobody has read their machine code",
			one.Package, e.Release, e.Family(), index)
	}
	return ""
}

// bareName returns a package's name without extras.
func bareName(name string) string { name, _, _ = strings.Cut(name, "["); return name }
