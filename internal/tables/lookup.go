package tables

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
)

// NormalGPU returns a GPU's name as the tables' index has it: without the vendor, in lower case, single spaces.
func NormalGPU(name string) string {
	if name = strings.ToLower(name); irregular(name) {
		name = strings.Join(strings.Fields(name), " ")
	}
	return strings.TrimPrefix(name, "nvidia ")
}

// irregular reports whether there is other white space than single spaces between words, as in none of the tables'
// names.
func irregular(name string) bool {
	before := byte(' ')
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return true
		}
		before = name[i]
	}
	return before == ' '
}

// ambiguous stands in the index for a name that GPUs of several capabilities share.
var ambiguous = &Chip{}

func (t *Tables) indexNames() map[string]*Chip {
	chips := Rows[Chip](t)
	index := make(map[string]*Chip, 10*len(chips))
	for i := range chips {
		for _, name := range chips[i].Names {
			key := NormalGPU(name)
			if other := index[key]; other != nil && other.Capability != chips[i].Capability {
				index[key] = ambiguous
			} else if other == nil {
				index[key] = &chips[i]
			}
		}
	}
	return index
}

func (t *Tables) indexIDs() map[string]*Chip {
	index := map[string]*Chip{}
	chips := Rows[Chip](t)
	for i := range chips {
		for _, id := range chips[i].PCIIDs {
			index["10de:"+id] = &chips[i]
		}
	}
	return index
}

// ChipByID returns the chip of a PCI device, "10de:27b8"; nil when the table does not know it.
func (t *Tables) ChipByID(id string) *Chip { return t.chipsByID()[id] }

// decoration is what vendors, NVML and people put after a model's name without changing its chip's capability; the
// last two are MIG and vGPU profiles, "MIG 3g.20gb" and "-24Q".
var decoration = lazyregexp.New(`( (\(.*\)|with .*|\d+ ?gb|hbm\de?|laptop gpu|laptop|gpu|mobile|max-q|pcie|sxm\d?|` +
	`nvl|mega|mig .*)|d?-\d+[abcq])$`)

// brands are the words that people leave out before a model's name, or NVML puts there.
var brands = []string{"", "tesla ", "geforce ", "geforce gtx ", "geforce rtx ", "quadro ", "rtx "}

// gluedSuffix is "2080ti", as people write it.
var gluedSuffix = lazyregexp.New(`(\d)(ti|super)\b`)

// How people and schedulers write a name as one word, or with hyphens: "rtx5090", "RTX-A6000", "nvidia-h100-mega-80gb",
// "rtx4090d".
var (
	hyphens  = strings.NewReplacer("-", " ", "_", " ")
	wordEnds = lazyregexp.New(`(geforce|quadro|tesla|nvidia|rtx|gtx|\bgt|pro|titan)(pro|rtx|gtx|[a-z]?\d)`)
	numEnds  = lazyregexp.New(`(\d)(d|ada|laptop|super|ti)\b`)
)

// spellings returns a GPU's name as it was written, in the index's form, and with each word by itself. A name is asked
// for again and again.
func (t *Tables) spellings(name string) []string {
	if list, ok := t.spelt.Load(name); ok {
		return list.([]string)
	}
	list := spellings(name)
	t.spelt.Store(name, list)
	return list
}

func spellings(name string) []string {
	key := strings.TrimPrefix(NormalGPU(name), "grid ")
	apart := hyphens.Replace(key)
	for range 3 { // "geforcertxpro" has as many words at most
		apart = wordEnds.ReplaceAllString(apart, "$1 $2")
	}
	return []string{gluedSuffix.ReplaceAllString(key, "$1 $2"), NormalGPU(numEnds.ReplaceAllString(apart, "$1 $2"))}
}

// ChipNamed finds the chip of a GPU's name, nil when the table does not know it or when chips of several
// capabilities share it.
func (t *Tables) ChipNamed(name string) *Chip {
	for _, key := range t.spellings(name) {
		if chip := t.chipSpelt(key); chip != nil {
			return unlessShared(chip)
		}
	}
	return nil
}

// HasName reports whether a product of the chip bears a name, as it is written or with its words apart.
func (c *Chip) HasName(name string) bool {
	written := spellings(name)
	return slices.ContainsFunc(c.Names, func(have string) bool { return slices.Contains(written, NormalGPU(have)) })
}

// chipSpelt looks a name up, shorter by a decoration each time.
func (t *Tables) chipSpelt(key string) *Chip {
	for {
		if chip := t.chipBranded(key); chip != nil {
			return chip
		}
		short := decoration.ReplaceAllString(key, "")
		if short == key {
			return t.chipLonger(key)
		}
		key = short
	}
}

// chipBranded looks a name up with and without its brand.
func (t *Tables) chipBranded(key string) *Chip {
	index := t.chipsByName()
	for name := range spellBrands(key) {
		if chip := index[name]; chip != nil {
			return chip
		}
	}
	return nil
}

// spellBrands yields a name with each brand before it and, where it begins with one, without.
func spellBrands(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, brand := range brands {
			if !yield(brand + key) {
				return
			}
			if bare, ok := strings.CutPrefix(key, brand); ok && brand != "" && !yield(bare) {
				return
			}
		}
		if number, ok := strings.CutPrefix(key, "geforce "); ok { // without its series, "GeForce 5090"
			_ = yield("geforce rtx "+number) && yield("geforce gtx "+number)
		}
	}
}

// chipLonger completes names that were cut, "RTX PRO 6000" of "RTX PRO 6000 Blackwell Server Edition": every name that
// goes on from three words or more must be of one capability.
func (t *Tables) chipLonger(key string) *Chip {
	if len(strings.Fields(key)) < 3 {
		return nil
	}
	var found *Chip
	for name, chip := range t.chipsByName() {
		if !strings.HasPrefix(name, key+" ") {
			continue
		}
		if found != nil && found.Capability != chip.Capability {
			return nil
		}
		found = chip
	}
	return found
}

// unlessShared leaves out what several chips share.
func unlessShared(chip *Chip) *Chip {
	if chip == ambiguous {
		return nil
	}
	return chip
}

// ChipOf finds a chip of that capability, for what all of them share: toolkits and driver branches.
func (t *Tables) ChipOf(c version.Capability) *Chip {
	chips := Rows[Chip](t)
	var found *Chip
	for i := range chips {
		if chips[i].Capability == c && (found == nil || chips[i].FirstBranch.Less(found.FirstBranch)) {
			found = &chips[i]
		}
	}
	return found
}

// BranchCUDA returns the CUDA that a driver's user space reports: its branch's row, else, between two branches, the
// nearest lower one's. A driver older or newer than the table's gives the zero Version.
func (t *Tables) BranchCUDA(driver version.Number) version.Number {
	if !driver.Known() { // as on all machines without one
		return version.Number{}
	}
	branches := Rows[Branch](t)
	if len(branches) == 0 || driver.Major() > version.Int(branches[len(branches)-1].Branch) {
		return version.Number{}
	}
	var cuda version.Number
	for _, b := range branches {
		if version.Int(b.Branch) <= driver.Major() && b.CUDA.Known() {
			cuda = b.CUDA
		}
	}
	return cuda
}

// BranchOfWindows returns the branch of a driver of Windows: its number is the branch's or one between it and the next,
// as 576.57 is of branch 575. A driver older than the tables' gives the zero Version.
func (t *Tables) BranchOfWindows(driver version.Number) version.Number {
	var branch version.Number
	for _, b := range Rows[Branch](t) {
		if driver.Known() && version.Int(b.Branch) <= driver.Major() {
			branch = version.ParseOrZero(b.Branch)
		}
	}
	return branch
}

// WindowsCUDA returns the newest CUDA that a driver of Windows is known to speak: that of the newest toolkit that came
// with it or with an older one, or the first of the newest family whose floor it reaches. The driver may speak a newer
// one.
func (t *Tables) WindowsCUDA(driver version.Number) version.Number {
	var cuda version.Number
	reach := func(release, least version.Number) {
		if driver.Known() && least.Known() && !driver.Less(least) && cuda.Less(release) {
			cuda = release
		}
	}
	for _, c := range Rows[CUDA](t) {
		reach(version.ParseOrZero(c.Release.Short()), c.DriverWindows)
	}
	for _, f := range Rows[Minor](t) {
		reach(version.ParseOrZero(f.Family.String()+".0"), f.DriverWindows)
	}
	return cuda
}

// Family returns the driver floor of a CUDA family with minor-version compatibility, nil for older and unknown ones.
func (t *Tables) Family(cuda version.Number) *Minor {
	rows := Rows[Minor](t)
	for i := range rows {
		if rows[i].Family.Major() == cuda.Major() {
			return &rows[i]
		}
	}
	return nil
}

// Toolkit returns the first release of CUDA's minor version, nil when the table does not have it.
func (t *Tables) Toolkit(cuda version.Number) *CUDA {
	rows := Rows[CUDA](t)
	for i := range rows {
		if rows[i].Release.Short() == cuda.Short() {
			return &rows[i]
		}
	}
	return nil
}

// sageMaker is what SageMaker puts before the name of EC2's instance type: "ml.g5.xlarge".
const sageMaker = "ml."

// Instance returns the row of an instance type, nil when the tables do not have it. SageMaker's are EC2's. Of another
// cloud's no more is known than its GPUs.
func (t *Tables) Instance(name string) *Instance {
	if own := RowsOf[Instance](t, strings.TrimPrefix(name, sageMaker)); len(own) > 0 {
		return &own[0]
	}
	others := RowsOf[Alias](t, name)
	if len(others) == 0 {
		return nil
	}
	a := others[0]
	return &Instance{Instance: a.Instance, GPU: a.GPU, Capability: t.ChipNamed(a.GPU).Capability, Count: a.Count,
		Platform: a.Platform, Origin: a.Origin}
}

// DriverOf returns the driver of one of SageMaker's machine images, or of Windows' own number for it. It returns any
// other name as it is.
func (t *Tables) DriverOf(name string) string {
	if rows := RowsOf[MachineImage](t, name); len(rows) > 0 {
		return rows[0].Driver.String()
	}
	if m := windowsFileVersion.FindStringSubmatch(name); m != nil {
		return m[1] + m[2] + "." + m[3]
	}
	return name
}

// windowsFileVersion matches a driver as Windows itself numbers it: the last five digits of 32.0.15.7283 are NVIDIA's
// 572.83.
var windowsFileVersion = lazyregexp.New(`^\d{2}\.\d{1,2}\.\d{1,2}(\d)\.(\d{2})(\d{2})$`)

// OnlyWindows reports whether NVIDIA made a driver's branch for Windows alone: the table of branches, which are Linux',
// lacks it, and has branches before and after it.
func (t *Tables) OnlyWindows(driver version.Number) bool {
	rows, before, after := Rows[Branch](t), false, false
	for _, b := range rows {
		if driver.Major() == b.Number() {
			return false
		}
		before = before || b.Number() >= 500 && b.Number() < driver.Major()
		after = after || b.Number() > driver.Major()
	}
	return before && after && driver.Parts() < 3
}

// HasInstance reports whether the tables have an instance type.
func (t *Tables) HasInstance(name string) bool {
	return len(RowsOf[Instance](t, strings.TrimPrefix(name, sageMaker))) > 0 || len(RowsOf[Alias](t, name)) > 0
}

// Torch returns the rows of one PyTorch release on a platform, in any variant.
func (t *Tables) Torch(release, platform string) []Torch {
	var found []Torch
	for _, w := range RowsOf[Torch](t, release) {
		if w.Platform == platform {
			found = append(found, w)
		}
	}
	return found
}

// DefaultVariant returns the variant of a PyTorch release that the installer's own index has for a platform; empty when
// that is not known.
func (t *Tables) DefaultVariant(release version.Number, platform string) string {
	for _, d := range Rows[Default](t) {
		if release.Known() && d.Release == release.Short() && d.Platform == platform {
			return d.Variant
		}
	}
	return ""
}

// Triton returns the row of a Triton release, nil where the table has none.
func (t *Tables) Triton(release version.Number) *Triton {
	rows := Rows[Triton](t)
	i := slices.IndexFunc(rows, func(r Triton) bool { return release.Known() && r.Release.Compare(release) == 0 })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// NCCL returns the row of an NCCL release for a CUDA family that says for which GPUs it has code, nil where the table
// has none.
func (t *Tables) NCCL(release, cuda version.Number) *NCCL {
	rows := RowsOf[NCCL](t, fmt.Sprintf("%d.%d.%d", release.Major(), release.Minor(), release.Patch()))
	i := slices.IndexFunc(rows, func(n NCCL) bool {
		return n.Release.Compare(release) == 0 && n.CUDA.Major() == cuda.Major() && len(n.SASS) > 0
	})
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// TensorFlow returns the row of a TensorFlow release: its own, else that of its minor version.
func (t *Tables) TensorFlow(release version.Number) *TensorFlow {
	rows := Rows[TensorFlow](t)
	var found *TensorFlow
	for i := range rows {
		r := version.ParseOrZero(rows[i].Release)
		if r.Short() == release.Short() && (r.Compare(release) == 0 || found == nil) {
			found = &rows[i]
		}
	}
	return found
}

// JAX returns the row of a JAX release for one CUDA family.
func (t *Tables) JAX(release version.Number, cuda version.Number, platform string) *JAX {
	rows := Rows[JAX](t)
	for i := range rows {
		r := &rows[i]
		ofFamily := r.Variant == fmt.Sprintf("cuda%d", cuda.Major())
		if ofFamily && r.Platform == platform && version.ParseOrZero(r.Release).Compare(release) == 0 {
			return r
		}
	}
	return nil
}

// InstanceNames returns the instance types of the tables, EC2's first.
func (t *Tables) InstanceNames() []string {
	var list []string
	for _, i := range Rows[Instance](t) {
		list = append(list, i.Instance)
	}
	for _, a := range Rows[Alias](t) {
		list = append(list, a.Instance)
	}
	return list
}

// Forward returns the package that a compat library is of, by its branch; nil when the table has none.
func (t *Tables) Forward(v version.Number) *Forward {
	rows := Rows[Forward](t)
	for i := range rows {
		if rows[i].Branch == fmt.Sprint(v.Major()) {
			return &rows[i]
		}
	}
	return nil
}

// CuDNNLeast returns the lowest compute capability that a cuDNN release serves, in whichever CUDA family it is known
// for; the zero Capability when it is not known.
func (t *Tables) CuDNNLeast(release version.Number) version.Capability {
	for _, c := range Rows[CuDNN](t) {
		if c.CapabilityMin.Known() && release.Known() && c.Release.SamePatch(release) {
			return c.CapabilityMin
		}
	}
	return version.Capability{}
}

// PTXKnown returns the newest PTX version of the CUDA that a driver speaks: between what the next lower and the next
// higher toolkit write, which are the same where the table has that very CUDA.
func (t *Tables) PTXKnown(cuda version.Number) (low, high version.Number) {
	for _, row := range Rows[CUDA](t) {
		switch {
		case !row.PTX.Known():
		case !cuda.LessShort(row.Release):
			low = row.PTX
			if !row.Release.LessShort(cuda) {
				high = row.PTX
			}
		case !high.Known():
			high = row.PTX
		}
	}
	return low, high
}

// CUDAOfPTX returns the first CUDA whose compiler knows a PTX version.
func (t *Tables) CUDAOfPTX(isa version.Number) version.Number {
	rows := Rows[CUDA](t)
	i := slices.IndexFunc(rows, func(c CUDA) bool { return c.PTX.Known() && !c.PTX.Less(isa) })
	if i < 0 {
		return version.Number{}
	}
	return rows[i].Release
}

// HostCompiler returns the row of a toolkit's release: where patch releases differ, the last that is not newer. Nil
// when the table has none, or the patch that decides is not known.
func (t *Tables) HostCompiler(cuda version.Number) *HostCompiler {
	var last *HostCompiler
	rows := Rows[HostCompiler](t)
	for i := range rows {
		switch {
		case rows[i].CUDA.Short() != cuda.Short():
		case cuda.Parts() < 3 && last != nil && rows[i].GCCMax.Compare(last.GCCMax) != 0:
			return nil
		case cuda.Parts() < 3 || !cuda.Less(rows[i].CUDA):
			last = &rows[i]
		}
	}
	return last
}

// Newest returns the last release of a compiler, "gcc" or "clang", that nvcc accepts.
func (r *HostCompiler) Newest(compiler string) version.Number {
	return map[string]version.Number{"gcc": r.GCCMax, "clang": r.ClangMax}[compiler]
}

// Oldest returns the first release of a compiler that nvcc accepts.
func (r *HostCompiler) Oldest(compiler string) version.Number {
	return map[string]version.Number{"gcc": r.GCCMin, "clang": r.ClangMin}[compiler]
}

// Trait reports whether a package's release has a trait. One that is not known counts as older than any.
func (t *Tables) Trait(trait, name string, release version.Number) bool {
	return slices.ContainsFunc(Rows[Trait](t), func(r Trait) bool {
		return r.Trait == trait && r.Package == name && r.Releases.Has(release)
	})
}

// CompiledForOlder reports whether a release of an engine lets in every later torch, although its libraries are
// compiled for the one of its day: an installer takes the newest, with which they do not load (vLLM up to 0.2.5).
func (t *Tables) CompiledForOlder(e *Extension) bool {
	open := func(text string) bool { return strings.HasPrefix(text, ">") && !strings.Contains(text, "<") }
	return slices.ContainsFunc(e.Torch, open) && !t.Trait("stable-abi", e.Package, version.ParseOrZero(e.Release)) &&
		t.Trait("compiled", e.Package, version.Number{}) && t.Trait("pins-torch", e.Package, version.Number{})
}

// LeastCapability returns the first compute capability that a package's project says it supports, with its source; not
// known where it says none.
func (t *Tables) LeastCapability(name string, release version.Number) (version.Capability, sheet.Sources) {
	for _, r := range Rows[Trait](t) {
		if text, ok := strings.CutPrefix(r.Trait, "least-"); ok && r.Package == name && r.Releases.Has(release) {
			least, _ := version.ParseCapability(text) // the linter has its form
			return least, r.Source
		}
	}
	return version.Capability{}, nil
}

// ListWithTrait lists the packages with a trait.
func (t *Tables) ListWithTrait(trait string) []string {
	var list []string
	for _, r := range Rows[Trait](t) {
		if r.Trait == trait {
			list = append(list, r.Package)
		}
	}
	return list
}

// Date returns how old the driver table is: the day for which its ends of life hold.
func (t *Tables) Date() string {
	return t.driversOf()
}

// floorKey identifies a floor.
type floorKey struct {
	cuda    version.Number
	windows bool
}

// floor is the minimum driver of a CUDA version.
type floor struct {
	need   string
	least  version.Number
	source []string
}

// maxFloors bounds how many floors are kept: a text can name any number of versions.
const maxFloors = 1000

// Floor returns the minimum driver for a CUDA version, in Linux' or in Windows' numbers: of its family or, for families
// without minor-version compatibility, of the toolkit. need says it in words.
func (t *Tables) Floor(cuda version.Number, windows bool) (need string, least version.Number, source []string) {
	key := floorKey{cuda, windows}
	if known, ok := t.floors.Load(key); ok {
		f := known.(floor)
		return f.need, f.least, f.source
	}
	need, least, source = t.findFloor(cuda, windows)
	if t.floorCount.Add(1) <= maxFloors {
		t.floors.Store(key, floor{need, least, source})
	}
	return need, least, source
}

// findFloor looks a floor up.
func (t *Tables) findFloor(cuda version.Number, windows bool) (need string, least version.Number, source []string) {
	if family := t.Family(cuda); family != nil {
		if windows {
			return "driver >= " + family.DriverWindows.String(), family.DriverWindows, family.Source
		}
		least = family.DriverLinux
		return "driver >= " + t.printedFloor(least), least, family.Source
	}
	if toolkit := t.Toolkit(cuda); toolkit != nil {
		least = toolkit.DriverLinux
		if windows {
			least = toolkit.DriverWindows
		}
		if least.Known() {
			return "driver >= " + least.String(), least, toolkit.Source
		}
	}
	return fmt.Sprintf("a driver that supports CUDA %s", cuda.Short()), version.Number{}, nil
}

// printedFloor returns a floor as it is written: of a branch, as CUDA 13 needs 580, the first driver that came with a
// toolkit.
func (t *Tables) printedFloor(least version.Number) string {
	if least.Parts() != 1 {
		return least.String()
	}
	for _, c := range Rows[CUDA](t) {
		if c.Branch == least.String() && c.DriverLinux.Known() {
			return c.DriverLinux.String()
		}
	}
	return least.String()
}

// DeveloperBeta reports whether a driver is a developer beta: its series goes on below the numbers of its branch's
// releases, which say nothing of it.
func (t *Tables) DeveloperBeta(driver version.Number) bool {
	return slices.ContainsFunc(Rows[Branch](t), func(b Branch) bool {
		return b.Beta != "" && driver.Short() == b.Beta && driver.Parts() > 2
	})
}

// NoVGPU reports whether a driver's branch is known to have no vGPU software, so that no GRID driver is of it.
func (t *Tables) NoVGPU(driver version.Number) bool {
	return slices.ContainsFunc(Rows[Branch](t), func(b Branch) bool {
		return b.VGPU == "none" && driver.Known() && driver.Major() == version.Int(b.Branch)
	})
}
