package matrix

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// build is one framework and what is known of it: what was read goes before what the tables say.
type build struct {
	*facts.Build
	env         *environment              // where it is installed
	subject     string                    // "torch 2.9.0+cu130 in /opt/venv"
	standing    standing                  // how much its environment counts
	counts      bool                      // standing is more than noted
	release     version.Release           // its version, as PEP 440 reads it
	accelerator string                    // "cuda", "cpu", "rocm", "xpu"; empty where nothing tells
	cuda        version.Number            // that it was built for
	rows        []row                     // the table's rows that may be this build; all must agree
	python      string                    // of the interpreter that will import it, "3.12"
	glibc       version.Number            // that its wheel's tag asks for
	cudnn, nccl version.Number            // that it says it was built with
	taken       []taken                   // by the loader
	dispensable bool                      // others install this extension and do without
	isa         map[string]version.Number // of PTX, by its target
	read        []part                    // sections of its libraries that were read
	resolved    *installed                // the cuDNN that an installer would bring; nil where one is there, or named
	named       *named                    // a package that a file names, which is all there is of it; else nil
	jit         bool                      // its code is made when it runs
	planned     bool                      // a plan brings it: it is not there yet
	foreign     string                    // the architecture of its files, where that is not the target's
}

// newBuild lays the tables over what was read of a build. What was read goes first: the tables speak of what was
// published, and the files may be another thing.
func newBuild(m *machine, env *environment, b *facts.Build, s standing) *build {
	own := b
	b = m.onTarget(b)
	v := &build{Build: b, env: env, standing: s, counts: s != noted, python: cmp.Or(m.target.Python, env.Python)}
	v.glibc, v.cudnn, v.nccl, v.taken = version.Of(b.Glibc), version.Of(b.CuDNN), version.Of(b.NCCL), takenBy(b)
	v.isa, v.read, v.dispensable = isaOf(b.PTXISA), partsRead(b), b.Extension && m.dispensable(b)
	v.subject, v.planned = Subject(b, env.Environment), m.f.Plan != nil && b.Path == ""
	if p := m.packageOf(b.Name); p != nil && b.Extension {
		v.jit = p.Uses == "jit"
	}
	v.release, _ = version.ParseRelease(b.Version)
	if v.release.Local == "" && b.Index == "default" && !m.eitherOnWindows(v) {
		v.release.Local = m.defaultVariant(b.Name, v.release)
	}
	v.accelerator = acceleratorOf(b, v.release)
	if v.accelerator == "" && m.cpuOnWindows(b.Name, v.release) {
		v.accelerator = "cpu"
	}
	v.cuda = version.Of(b.CUDA)
	if local, ok := v.release.LocalCUDA(); ok && !v.cuda.Known() {
		v.cuda = local
	}
	// The tables have rows for CUDA only.
	if v.accelerator != "cuda" && v.accelerator != "" {
		return v
	}
	v.rows = m.rowsFor(v)
	v.resolved = m.resolvedCuDNN(v)
	if b != own {
		v.foreign = own.Arch
	}
	if !v.cuda.Known() {
		v.cuda = commonCUDA(v.rows)
	}
	if !v.cuda.Known() && b.Standalone {
		v.cuda = m.standaloneCUDA(b)
	}
	if v.cuda.Known() {
		v.accelerator = "cuda"
	}
	return v
}

// onTarget is what is known of a build on the target's architecture: of one for another, what the tables say of the
// same release there, for nothing that was read in its files holds.
func (m *machine) onTarget(b *facts.Build) *facts.Build {
	if b.Arch == "" || !strings.HasPrefix(m.platform, "linux_") || m.platform == "linux_"+b.Arch {
		return b
	}
	return &facts.Build{Name: b.Name, Extension: b.Extension, PartOf: b.PartOf, Standalone: b.Standalone,
		Version: b.Version, Framework: b.Framework, Hindrances: b.Hindrances,
		Accelerator: b.Accelerator, CUDA: b.CUDA, Origin: b.Origin, Requires: b.Requires, Path: b.Path, From: b.From}
}

// Subject names a build in findings and answers: "torch 2.9.0+cu130 in /opt/venv".
func Subject(b *facts.Build, env *facts.Environment) string {
	return b.Name + " " + cmp.Or(b.Version, b.Specifier, "(version unknown)") + placeOf(env)
}

// placeOf is where something stands, after its name: " in /opt/venv"; empty for the one set of a file.
func placeOf(env *facts.Environment) string {
	switch {
	case env.Path == "":
		return ""
	case strings.HasPrefix(env.Path, "Python "):
		return " for " + env.Path
	}
	return " in " + env.Path
}

// acceleratorOf is what the build was made for, empty when nothing tells.
func acceleratorOf(b *facts.Build, r version.Release) string {
	if b.Accelerator != "" {
		return b.Accelerator
	}
	_, named := r.LocalCUDA()
	switch {
	case b.CUDA != "" || named:
		return "cuda"
	case r.Local == "cpu" || r.Local == "xpu":
		return r.Local
	case strings.HasPrefix(r.Local, "rocm"):
		return "rocm"
	}
	return ""
}

// eitherOnWindows reports whether a list of what is installed on Windows has a torch without a local version: the package
// index has it for CPUs alone, and conda's, which pip lists, too, may be for CUDA.
func (m *machine) eitherOnWindows(b *build) bool {
	return b.Name == "torch" && m.platform == "win_amd64" && b.env.Kind == "pip list" && b.release.Local == ""
}

// cpuOnWindows reports whether a release of TensorFlow has no CUDA on Windows itself; in WSL2 Linux's wheels run.
func (m *machine) cpuOnWindows(name string, r version.Release) bool {
	return name == "tensorflow" && m.platform == "win_amd64" && r.Number.Known() &&
		!m.t.Trait("windows-cuda", name, r.Number)
}

// commonCUDA is the CUDA that all rows share, or, where they differ, nothing.
func commonCUDA(rows []row) version.Number {
	if len(rows) == 0 {
		return version.Number{}
	}
	for _, r := range rows[1:] {
		if r.CUDA.Short() != rows[0].CUDA.Short() {
			return version.Number{}
		}
	}
	return rows[0].CUDA
}

// optional reports whether this extension is not missed where it has no code for the GPU: SGLang brings kernels for
// Hopper along and runs on an A10G. What people install by itself is no part, whoever asks for it too; nor is what
// stands for the torch that it brings, as an xformers that a file names alone: nothing does without torch's code.
func (b *build) optional() bool {
	return b.Extension && b.dispensable && (b.named == nil || b.named.torch == "")
}

// dispensable reports whether an extension is one that others install and do without.
func (m *machine) dispensable(b *facts.Build) bool {
	part := b.PartOf != "" && !m.t.Trait("compiled", b.Name, version.Number{}) &&
		!slices.Contains([]string{"torchvision", "torchaudio"}, b.Name)
	return part || m.t.Trait("dispensable", b.Name, version.Number{})
}

// soundTriton reports whether a build is a Triton without torch that its files allow to compile here. What it compiles
// is not there to be judged, so it moves nothing.
func (b *build) soundTriton() bool {
	return b.Name == "triton" && len(b.Hindrances) == 0 && b.foreign == ""
}

// official reports whether the build is one that the tables may speak of: not a source build, conda's, or NGC's.
func (b *build) official() bool { return b.Origin == "" || b.Origin == "wheel" }

// rowsFor finds the table's rows that may be this build. A plain "2.9.0" can be any of the release's variants.
func (m *machine) rowsFor(b *build) []row {
	if !b.official() || !b.release.Final() || m.eitherOnWindows(b) {
		return nil
	}
	if !b.release.Number.Known() {
		return m.ranged(b)
	}
	switch b.Name {
	case "torch":
		return m.torchRows(b)
	case "tensorflow":
		if r := m.t.TensorFlow(b.release.Number); r != nil && m.platform == r.Platform {
			return []row{tensorflowRow(r)}
		}
	case "jax":
		if r := m.t.JAX(b.release.Number, b.cuda, m.platform); b.cuda.Known() && r != nil {
			return []row{jaxRow(r)}
		}
	}
	return nil
}

// torchRows are the variants of torch's release that a build can be: of its CUDA, or of its family where only that is
// known ("cu12" in a name).
func (m *machine) torchRows(b *build) []row {
	var rows []row
	for _, w := range m.t.Torch(b.release.Number.String(), m.platform) {
		if b.cuda.Known() && w.CUDA.Short() != b.cuda.Short() && (b.cuda.Parts() > 1 || w.CUDA.Major() != b.cuda.Major()) {
			continue
		}
		rows = append(rows, torchRow(&w))
	}
	return rows
}

// source is where the build's rows come from, each address once.
func (b *build) source() []string {
	var list []string
	for _, r := range b.rows {
		for _, s := range r.source {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// evidence is the build's version and CUDA as evidence.
func (b *build) evidence() []Evidence {
	list := []Evidence{{Fact: b.Name, Value: b.Version, From: cmp.Or(b.From, b.Path)}}
	if b.cuda.Known() {
		list = append(list, Evidence{Fact: b.Name + " CUDA", Value: b.cuda.String(), From: cmp.Or(b.From, b.Path)})
	}
	return list
}

// code judges the build's code for one GPU, and that of the torch which it brings; why says what is missing when it is
// unsure, or what proves it.
func (m *machine) code(b *build, g gpu) (version.Coverage, string) {
	own, why := m.ownCode(b, g)
	if b.bringsTorch() {
		if c, because := m.codeByTable(b, g); c < own {
			return c, because
		}
	}
	return own, why
}

// bringsTorch reports whether a package of a file has code of its own and pins a torch, whose rows are the build's.
func (b *build) bringsTorch() bool {
	return b.named != nil && b.named.torch != "" && len(b.SASS)+len(b.PTX) > 0 && len(b.rows) > 0
}

// ownCode judges the build's code by what was read of it, else by its rows.
func (m *machine) ownCode(b *build, g gpu) (version.Coverage, string) {
	switch {
	case !g.capability.Known():
		return version.Unsure, "the compute capability of " + g.label
	case len(b.SASS)+len(b.PTX) > 0:
		return judged(version.Cover(b.sassRead(), b.PTX, g.capability), g, "read from the build")
	case b.Damaged != "": // the table speaks of a library that is sound
		return version.Unsure, b.Damaged
	case m.belowLeast(b, g):
		return version.Uncovered, unsupported
	}
	return m.codeByTable(b, g)
}

// unsupported is what proves that a package has no code for a GPU where nobody read its libraries.
const unsupported = "its project supports only newer GPUs"

// belowLeast reports whether a GPU is older than those that a package of a file supports, whatever the torch that it
// brings has code for.
func (m *machine) belowLeast(b *build, g gpu) bool {
	if b.named == nil {
		return false
	}
	least, _ := m.t.LeastCapability(b.Name, b.release.Number)
	return least.Known() && !g.capability.AtLeast(least)
}

// sassRead adds what TensorFlow's notation means: compute_90 in its list stands for machine code too.
func (b *build) sassRead() []string {
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

// codeByTable asks every row that may be this build; they must agree. Without a row the toolkit's age alone can prove
// that there is no code.
func (m *machine) codeByTable(b *build, g gpu) (version.Coverage, string) {
	rows := slices.DeleteFunc(slices.Clone(b.rows), func(r row) bool { return len(r.SASS) == 0 })
	if len(rows) == 0 || len(rows) < len(b.rows) {
		return m.codeByToolkit(b, g)
	}
	best := version.Cover(rows[0].SASS, rows[0].PTX, g.capability)
	for _, r := range rows[1:] {
		if version.Cover(r.SASS, r.PTX, g.capability) != best {
			return version.Unsure, "which CUDA variant of the release it is"
		}
	}
	// An empty cell means that PTX was not read (a wheel without has "none"), so that only the toolkit's age can be
	// proof.
	if best == version.Uncovered && len(rows[0].PTX) == 0 {
		if c, _ := m.codeByToolkit(b, g); c != version.Uncovered {
			return version.Unsure, "whether the wheel carries PTX"
		}
	}
	return judged(best, g, tableRow)
}

// tableRow is what proves a coverage that was not read from the build.
const tableRow = "of the release's table row"

// judged gives a coverage its reason: what proves it, or what is missing where desktop code meets a Tegra module.
func judged(c version.Coverage, g gpu, proof string) (version.Coverage, string) {
	if c == version.Unsure {
		return c, "whether machine code for discrete GPUs runs on " + g.label + ", which is integrated"
	}
	return c, proof
}

// codeByToolkit is for builds that no table knows: a toolkit makes machine code for no GPU that is newer than itself,
// and no code at all for one that it has dropped. What is newer than the toolkit can run PTX of an older GPU, which of
// all packages only PyTorch is known to leave out: no row of torch.csv has any.
func (m *machine) codeByToolkit(b *build, g gpu) (version.Coverage, string) {
	missing := "which machine code it contains" + m.unsaid(b)
	if !b.cuda.Known() || b.cuda.Parts() < 2 || !b.official() || g.capability.Tegra() {
		return version.Unsure, missing
	}
	for _, c := range tables.Rows[tables.Chip](m.t) {
		compiles := !b.cuda.LessShort(c.FirstCUDA) && (!c.LastCUDA.Known() || !c.LastCUDA.LessShort(b.cuda))
		if compiles && c.Capability.Major == g.capability.Major && c.Capability.Minor <= g.capability.Minor {
			return version.Unsure, missing
		}
	}
	if g.chip == nil || !b.torches() && b.cuda.LessShort(g.chip.FirstCUDA) {
		return version.Unsure, missing
	}
	return version.Uncovered, "CUDA " + b.cuda.Short() + " compiles for no such GPU"
}

// torches reports whether a build is a torch, or is judged by the one that it brings.
func (b *build) torches() bool {
	return b.Name == "torch" || len(b.rows) > 0 && b.rows[0].framework == "torch"
}

// missingNCCL are the functions that are missing in the NCCL taken.
func (b *build) missingNCCL() []string {
	list := symbolsOf(b.Missing, "nccl")
	for _, u := range b.Unresolved {
		if strings.HasPrefix(u.Library, "libnccl.") && !slices.Contains(list, u.Symbol) {
			list = append(list, u.Symbol)
		}
	}
	return list
}

// symbolsOf are the symbols of one library among what a build misses: NCCL's all begin with "nccl".
func symbolsOf(missing []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}
