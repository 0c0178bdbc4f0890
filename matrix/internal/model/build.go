package model

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// About returns the parts of a build's subject. "for Python 3.12" belongs to the version, because the place is a
// directory.
func (b *Build) About() verdict.SubjectParts {
	words, place := b.Subject, ""
	if in := PlaceOf(b.Env.Environment); strings.HasPrefix(b.Env.Path, "/") && strings.HasSuffix(words, in) {
		words, place = strings.TrimSuffix(words, in), b.Env.Path
	}
	return verdict.SubjectParts{Name: b.Name, Version: strings.TrimPrefix(strings.TrimPrefix(words, b.Name), " "), Place: place}
}

// Build is one framework and everything known about it. Facts that were read take precedence over the tables.
type Build struct {
	*facts.Build
	cudaof.Answer                                     // the CUDA that it was built for, or the device, and how that is known
	Env                     *Environment              // where it is installed
	Subject                 string                    // "torch 2.9.0+cu130 in /opt/venv"
	Standing                Standing                  // how much its environment counts
	Counts                  bool                      // Standing is more than noted
	Release                 version.Release           // its version, as PEP 440 reads it
	Rows                    []Row                     // the table's rows that may be this build; all must agree
	Interpreter             string                    // of the interpreter that will import it, "3.12"
	GlibcNumber             version.Number            // that its wheel's tag asks for
	CuDNNNumber, NCCLNumber version.Number            // that it says it was built with
	TakenFiles              []Taken                   // by the loader
	byPython                bool                      // Rows are those of a range, one for each Python
	dispensable             bool                      // others install this extension and do without
	PTXVersions             map[string]version.Number // of PTX, by its target
	read                    []Part                    // sections of its libraries that were read
	resolved                *Installed                // the cuDNN that an installer would bring; nil where one is there, or named
	Named                   *Requested                // a package that a file names, which is all there is of it; else nil
	JIT                     bool                      // its code is made when it runs
	Planned                 bool                      // a plan brings it: it is not there yet
	Kept                    string                    // the variable by which its user keeps it to the CPU, "JAX_PLATFORMS=cpu"
	Foreign                 string                    // the architecture of its files, where that is not the target's
}

// newBuild combines what was read of a build with the tables. What was read takes precedence: the tables describe
// published wheels, and the files may be something else. n is the requested package that the build stands for, or nil.
func newBuild(m *Machine, env *Environment, b *facts.Build, s Standing, n *Requested) *Build {
	own := b
	b = m.onTarget(b)
	v := &Build{Build: b, Env: env, Standing: s, Counts: s != Noted, Interpreter: cmp.Or(m.Target.Python, env.Python), Named: n}
	v.GlibcNumber, v.CuDNNNumber, v.NCCLNumber, v.TakenFiles = version.ParseOrZero(b.Glibc), version.ParseOrZero(b.CuDNN), version.ParseOrZero(b.NCCL), takenBy(b)
	v.PTXVersions, v.read, v.dispensable = isaOf(b.PTXISA), partsRead(b), b.Extension && m.dispensable(b)
	v.Kept = m.keptToCPU(b.Name)
	v.Subject, v.Planned = Subject(b, env.Environment), m.Facts.Plan != nil && b.Path == ""
	if p := m.PackageOf(b.Name); p != nil && b.Extension {
		v.JIT = p.Uses == "jit"
	}
	v.Release, _ = version.ParseRelease(b.Version)
	index := b.Index
	if m.eitherOnWindows(v) {
		index = ""
	}
	v.Answer = m.cudaOf(v, index)
	if v.Release.Local == "" && index == cudaof.DefaultIndex {
		v.Release.Local = m.DefaultVariant(b.Name, v.Release)
	}
	// The tables have rows only for CUDA.
	if v.Device != "cuda" && v.Device != "" {
		return v
	}
	v.Rows = m.rowsFor(v)
	v.resolved = m.resolvedCuDNN(v)
	if b != own {
		v.Foreign = own.Arch
	}
	return v
}

// cudaOf determines which CUDA a build is for. A requested package has already been asked.
func (m *Machine) cudaOf(v *Build, index string) cudaof.Answer {
	if v.Named != nil {
		return v.Named.Answer
	}
	b := v.Build
	p := cudaof.Package{Name: b.Name, Release: v.Release, Version: b.Version, Said: b.CUDA, Accelerator: b.Accelerator,
		Index: index, Platform: m.Platform, Linked: b.Standalone, PTX: b.PTXISA, Installed: true,
		Frameworks: func() []version.Number { return cudasOf(m.rowsFor(v)) }}
	if b.Standalone {
		public, _, _ := strings.Cut(b.Version, "+")
		for _, e := range tables.RowsOf[tables.Extension](m.Tables, b.Name) {
			if version.SameRelease(e.Release, public) {
				p.Rows = append(p.Rows, e)
			}
		}
	}
	return cudaof.Find(m.Tables, p)
}

// cudasOf returns the CUDA versions in a framework's rows.
func cudasOf(rows []Row) []version.Number {
	var list []version.Number
	for _, r := range rows {
		list = append(list, r.CUDA)
	}
	return list
}

// onTarget returns what is known of a build on the target's architecture. If the build is for another architecture, its
// files say nothing, and the tables' rows for the same release on the target's architecture are used.
func (m *Machine) onTarget(b *facts.Build) *facts.Build {
	if b.Arch == "" || !strings.HasPrefix(m.Platform, "linux_") || m.Platform == "linux_"+b.Arch {
		return b
	}
	return &facts.Build{Name: b.Name, Extension: b.Extension, PartOf: b.PartOf, Standalone: b.Standalone,
		Version: b.Version, Framework: b.Framework, Hindrances: b.Hindrances,
		Accelerator: b.Accelerator, CUDA: b.CUDA, Origin: b.Origin, Requires: b.Requires, Path: b.Path, From: b.From}
}

// Subject names a build in findings and answers: "torch 2.9.0+cu130 in /opt/venv".
func Subject(b *facts.Build, env *facts.Environment) string {
	name := b.Name + " " + cmp.Or(b.Version, b.Specifier, "(version unknown)")
	if b.Site != "" {
		return name + " in " + b.Site
	}
	return name + PlaceOf(env)
}

// PlaceOf returns the words for a build's place, such as " in /opt/venv". It returns "" for the only environment of a
// file.
func PlaceOf(env *facts.Environment) string {
	switch {
	case env.Path == "":
		return ""
	case strings.HasPrefix(env.Path, "Python "):
		return " for " + env.Path
	}
	return " in " + env.Path
}

// eitherOnWindows reports whether a list of packages installed on Windows has a torch without a local version. From the
// package index that is a CPU build. From conda, whose packages pip lists, too, it may be for CUDA.
func (m *Machine) eitherOnWindows(b *Build) bool {
	return b.Name == "torch" && m.Platform == "win_amd64" && b.Env.Kind == "pip list" && b.Release.Local == ""
}

// Optional reports whether an extension can lack code for the GPU without harm: SGLang brings kernels for Hopper and
// runs on an A10G. A package that people install by itself is not optional, even if another package also requires it.
// Neither is one that stands for the torch that it brings, such as an xformers that a file names alone.
func (b *Build) Optional() bool {
	return b.Extension && b.dispensable && (b.Named == nil || b.Named.Torch == "")
}

// dispensable reports whether an extension is one that other packages install but can do without.
func (m *Machine) dispensable(b *facts.Build) bool {
	part := b.PartOf != "" && !m.Tables.Trait("compiled", b.Name, version.Number{}) &&
		!slices.Contains([]string{"torchvision", "torchaudio"}, b.Name)
	return part || m.Tables.Trait("dispensable", b.Name, version.Number{})
}

// soundTriton reports whether a build is a Triton without torch whose files allow it to compile here. The code that it
// will compile does not exist yet, so it cannot be judged.
func (b *Build) soundTriton() bool {
	return b.Name == "triton" && len(b.Hindrances) == 0 && b.Foreign == ""
}

// Official reports whether the tables apply to the build: it is not a source build and not from conda or NGC.
func (b *Build) Official() bool { return b.Origin == "" || b.Origin == "wheel" }

// rowsFor returns the table rows that may describe the build. A plain "2.9.0" can be any variant of the release.
func (m *Machine) rowsFor(b *Build) []Row {
	if !b.Official() || !b.Release.Final() || m.eitherOnWindows(b) {
		return nil
	}
	if !b.Release.Number.Known() {
		return m.rowsOfRange(b)
	}
	switch b.Name {
	case "torch":
		return m.torchRows(b)
	case "tensorflow":
		if r := m.Tables.TensorFlow(b.Release.Number); r != nil && m.Platform == r.Platform {
			return []Row{tensorflowRow(r)}
		}
	case "jax":
		return m.jaxRows(b)
	}
	return nil
}

// jaxRows returns the variants of JAX's release that a build can be. A report that lists JAX's GPUs does not show its
// plugin's CUDA.
func (m *Machine) jaxRows(b *Build) []Row {
	if b.CUDANumber.Known() {
		if r := m.Tables.JAX(b.Release.Number, b.CUDANumber, m.Platform); r != nil {
			return []Row{jaxRow(r)}
		}
		return nil
	}
	var rows []Row
	for _, r := range tables.RowsOf[tables.JAX](m.Tables, b.Release.Number.String()) {
		if b.Accelerator == "cuda" && r.Platform == m.Platform {
			rows = append(rows, jaxRow(&r))
		}
	}
	return rows
}

// torchRows returns the variants of torch's release that a build can be: those for its CUDA, or for its CUDA major
// version if only that is known ("cu12" in a name).
func (m *Machine) torchRows(b *Build) []Row {
	var rows []Row
	for _, w := range m.Tables.Torch(b.Release.Number.String(), m.Platform) {
		if b.CUDANumber.Known() && w.CUDA.Short() != b.CUDANumber.Short() && (b.CUDANumber.Parts() > 1 || w.CUDA.Major() != b.CUDANumber.Major()) {
			continue
		}
		rows = append(rows, torchRow(&w))
	}
	return rows
}

// Source returns the source addresses of the build's rows, without duplicates.
func (b *Build) Source() []string {
	var list []string
	for _, r := range b.Rows {
		for _, s := range r.Source {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// Evidence returns the build's version and CUDA as evidence.
func (b *Build) Evidence() []verdict.Evidence {
	list := []verdict.Evidence{{Fact: b.Name, Value: b.Version, From: cmp.Or(b.From, b.Path)}}
	if b.CUDANumber.Known() {
		list = append(list, verdict.Evidence{Fact: b.Name + " CUDA", Value: b.CUDANumber.String(), From: cmp.Or(b.From, b.Path)})
	}
	for _, hidden := range b.Hides {
		list = append(list, verdict.Evidence{Fact: "hides", Value: hidden, From: b.Site + ", which comes first on the import path"})
	}
	return list
}

// Place returns the environment that an installer must change for the build: its own, or the directory from which
// Python imports it, if that differs.
func (b *Build) Place() *Environment {
	if b.Site == "" || b.Env == nil {
		return b.Env
	}
	there := *b.Env
	there.Environment = &facts.Environment{Path: b.Site, Kind: "target", Python: b.Env.Python, NoPip: b.Env.NoPip}
	return &there
}

// Code judges the code of a build, including the torch that it brings, for one GPU. proof names the evidence; missing
// is the unknown fact if the result is unsure.
func (m *Machine) Code(b *Build, g hardware.GPU) (c version.Coverage, proof string, missing verdict.MissingFact) {
	c, proof, missing = m.OwnCode(b, g)
	if b.BringsTorch() {
		if torch, by, lack := m.codeByTable(b, g); torch < c {
			return torch, by, lack
		}
	}
	if c == version.Unsure && b.Name == "torch" && m.Facts.Observed.Ran && len(m.GPUs) == 1 && !m.Target.Named() {
		return version.BySASS, ranOn, verdict.MissingFact{}
	}
	return c, proof, missing
}

// ranOn is the proof of a build whose machine code no table has: a text shows what it computed on the GPU.
const ranOn = "a value that it computed on the GPU is in the text"

// BringsTorch reports whether a requested package has code of its own and pins a torch, so that torch's rows also
// describe the build.
func (b *Build) BringsTorch() bool {
	return b.Named != nil && b.Named.Torch != "" && len(b.SASS)+len(b.PTX) > 0 && len(b.Rows) > 0
}

// OwnCode judges the build's code for one GPU by what was read of it, otherwise by its rows.
func (m *Machine) OwnCode(b *Build, g hardware.GPU) (c version.Coverage, proof string, missing verdict.MissingFact) {
	switch {
	case !g.Capability.Known():
		return version.Unsure, "", verdict.Value("the compute capability of " + g.Label)
	case len(b.SASS)+len(b.PTX) > 0:
		return provenCoverage(version.Cover(b.SassRead(), b.PTX, g.Capability), g, "read from the build")
	case b.Damaged != "": // the table speaks of a library that is sound
		return version.Unsure, "", verdict.Statement(b.Damaged)
	case m.belowLeast(b, g):
		return version.Uncovered, Unsupported, verdict.MissingFact{}
	}
	return m.codeByTable(b, g)
}

// Unsupported is the proof that a package has no code for a GPU if nobody read its libraries.
const Unsupported = "its project supports only newer GPUs"

// belowLeast reports whether a GPU is older than those that a requested package supports, whatever code the torch that
// it brings has.
func (m *Machine) belowLeast(b *Build, g hardware.GPU) bool {
	if b.Named == nil {
		return false
	}
	least, _ := m.Tables.LeastCapability(b.Name, b.Release.Number)
	return least.Known() && !g.Capability.AtLeast(least)
}

// SassRead returns the machine code that was read. In TensorFlow's notation compute_90 also stands for machine code, so
// it adds that.
func (b *Build) SassRead() []string {
	list := slices.Clone(b.SASS)
	if b.Name == "tensorflow" {
		for _, ptx := range b.PTX {
			if c, ok := version.ParseCode(ptx); ok && c.Suffix == "" { // XLA's lists have none
				list = append(list, c.SM())
			}
		}
	}
	return list
}

// codeByTable judges by all rows that may describe the build; they must agree. Without a row, only the age of the
// toolkit can prove that there is no code.
func (m *Machine) codeByTable(b *Build, g hardware.GPU) (c version.Coverage, proof string, missing verdict.MissingFact) {
	rows := slices.DeleteFunc(slices.Clone(b.Rows), func(r Row) bool { return len(r.SASS) == 0 })
	if len(rows) == 0 || len(rows) < len(b.Rows) {
		return m.codeByToolkit(b, g)
	}
	best := version.Cover(rows[0].SASS, rows[0].PTX, g.Capability)
	for _, r := range rows[1:] {
		if version.Cover(r.SASS, r.PTX, g.Capability) != best {
			return version.Unsure, "", verdict.Question("which CUDA variant of the release it is")
		}
	}
	// An empty cell means that the PTX was not read (a wheel without PTX has "none"), so only the toolkit's age can
	// prove anything.
	if best == version.Uncovered && len(rows[0].PTX) == 0 {
		if c, _, _ := m.codeByToolkit(b, g); c != version.Uncovered {
			return version.Unsure, "", verdict.Question("whether the wheel carries PTX")
		}
	}
	return provenCoverage(best, g, tableRow)
}

// tableRow is the proof for a coverage that comes from a table and not from the build.
const tableRow = "of the release's table row"

// provenCoverage returns a coverage with its proof. If desktop code meets a Tegra module, it returns the missing fact
// instead.
func provenCoverage(c version.Coverage, g hardware.GPU, by string) (same version.Coverage, proof string, missing verdict.MissingFact) {
	if c == version.Unsure {
		return c, "", verdict.Question("whether machine code for discrete GPUs runs on " + g.Label + ", which is integrated").Because(verdict.OnJetson)
	}
	return c, by, verdict.MissingFact{}
}

// codeByToolkit judges builds without a row. A toolkit makes no machine code for a GPU newer than itself, and no code
// at all for one that it has dropped. A newer GPU can run PTX made for an older one. Of all packages only PyTorch is
// known to omit PTX: no row of torch.csv has any.
func (m *Machine) codeByToolkit(b *Build, g hardware.GPU) (c version.Coverage, proof string, missing verdict.MissingFact) {
	missing = verdict.Question("which machine code it contains").Because(m.Unsaid(b))
	if !b.CUDANumber.Known() || b.CUDANumber.Parts() < 2 || g.Capability.Tegra() ||
		!b.Official() && !b.isFromClosedChannel() && !b.isNVIDIAImage() {
		return version.Unsure, "", missing
	}
	for _, c := range tables.Rows[tables.Chip](m.Tables) {
		compiles := !b.CUDANumber.LessShort(c.FirstCUDA) && (!c.LastCUDA.Known() || !c.LastCUDA.LessShort(b.CUDANumber))
		if compiles && c.Capability.Major == g.Capability.Major && c.Capability.Minor <= g.Capability.Minor {
			return version.Unsure, "", missing
		}
	}
	if g.Chip == nil || !b.torches() && b.CUDANumber.LessShort(g.Chip.FirstCUDA) {
		return version.Unsure, "", missing
	}
	return version.Uncovered, "CUDA " + b.CUDANumber.Short() + " compiles for no such GPU", verdict.MissingFact{}
}

// isFromClosedChannel reports whether a build is a torch of conda's pytorch channel, which ended with 2.5.1. Like
// PyTorch's wheels, its builds for CUDA 12 have no PTX. Those for CUDA 11 have some for capability 3.7. conda-forge's
// builds have PTX for the newest GPU.
func (b *Build) isFromClosedChannel() bool {
	return b.Name == "torch" && b.Origin == "conda" && b.CUDANumber.Major() >= 12
}

// isNVIDIAImage reports whether a build belongs to one of NVIDIA's framework images, whose own CUDA compiled it.
func (b *Build) isNVIDIAImage() bool {
	return b.Origin == "image" && strings.HasPrefix(b.Name, "nvcr.io/nvidia/") && !cudaof.IsCUDAImage(b.Name)
}

// torches reports whether a build is a torch or is judged by the torch that it brings.
func (b *Build) torches() bool {
	return b.Name == "torch" || len(b.Rows) > 0 && b.Rows[0].Framework == "torch"
}
