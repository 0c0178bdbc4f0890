package model

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// NewerPTX compares a PTX version with those that the driver's compiler knows. missing is the fact that is not known.
func (m *hwMachine) NewerPTX(cuda, isa version.Number) (newer bool, missing verdict.MissingFact) {
	low, high := m.Tables.PTXKnown(m.Driver().CUDA)
	switch {
	case !isa.Known() && cuda.Parts() > 1 && m.Driver().CUDA.Known() && !m.Driver().CUDA.LessShort(cuda):
		return false, verdict.MissingFact{} // no compiler writes newer PTX than its CUDA knows; older, for instance TensorFlow's, it may be
	case !isa.Known():
		return false, verdict.Question("which PTX version the build's code has")
	case !m.Driver().CUDA.Known():
		return false, verdict.NoCUDA
	case low.Known() && !low.Less(isa):
		return false, verdict.MissingFact{}
	case high.Known() && high.Less(isa):
		return true, verdict.MissingFact{}
	}
	return false, verdict.Question("which PTX version a driver for CUDA " + m.Driver().CUDA.Short() + " knows")
}

// Assembles reports whether the Triton of a torch row compiles for every GPU here. If the table does not know, the
// answer is yes for GPUs before Blackwell.
func (m *Machine) Assembles(r Row) bool {
	if r.Framework != "torch" {
		return true
	}
	i := slices.IndexFunc(r.Companions, func(c pin.Package) bool { return c.Package == "triton" })
	t := m.Tables.Triton(version.Of(r.Companions[i].Version))
	return !slices.ContainsFunc(m.GPUs, func(g GPU) bool {
		switch {
		case t == nil:
			return g.Capability.Major >= Blackwell
		case g.Capability.Major >= Blackwell && t.PTXASBlackwell.Known():
			return JITCompiler{Version: t.PTXASBlackwell}.Older(g)
		}
		return JITCompiler{Version: t.PTXAS}.Older(g)
	})
}

// EvidenceCode returns the available machine code as evidence.
func (m *Machine) EvidenceCode(b *Build, proof string) verdict.Evidence {
	list := slices.Concat(b.SASS, b.PTX)
	from := cmp.Or(b.Path, b.From)
	if b.BringsTorch() && proof == tableRow {
		list = nil
	}
	if proof == Unsupported {
		least, _ := m.Tables.LeastCapability(b.Name, b.Release.Number)
		return verdict.Evidence{Fact: "least compute capability", Value: least.String(), From: "trait.csv"}
	}
	if len(list) == 0 && len(b.Rows) > 0 {
		list, from = b.Rows[0].SASS, "table row "+b.Rows[0].Release+" "+b.Rows[0].Variant
	}
	if len(list) == 0 {
		return verdict.Evidence{Fact: "machine code", Value: proof, From: from}
	}
	return verdict.Evidence{Fact: "machine code", Value: strings.Join(list, " "), From: from}
}

// Blackwell is the compute capability from which Triton uses its second ptxas, if it has two.
const Blackwell = 10

// JITCompiler is a compiler that makes machine code for a GPU at run time.
type JITCompiler struct {
	Name    string         // "Triton's ptxas"
	Version version.Number // the CUDA release that it came with
	From    string         // where that was read
}

// Older reports whether the compiler was released before the GPU.
func (c JITCompiler) Older(g GPU) bool {
	return g.Chip != nil && g.Chip.FirstCUDA.Known() && c.Version.LessShort(g.Chip.FirstCUDA) && !g.Capability.Tegra()
}
