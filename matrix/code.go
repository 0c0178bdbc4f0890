package matrix

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
)

// newerPTX compares a PTX version with those that the driver's compiler knows; why says what is missing.
func (m *machine) newerPTX(cuda, isa version.Number) (newer bool, why string) {
	low, high := m.t.PTXKnown(m.driver().cuda)
	switch {
	case !isa.Known() && cuda.Parts() > 1 && m.driver().cuda.Known() && !m.driver().cuda.LessShort(cuda):
		return false, "" // no compiler writes newer PTX than its CUDA knows; older, for instance TensorFlow's, it may be
	case !isa.Known():
		return false, "which PTX version the build's code has"
	case !m.driver().cuda.Known():
		return false, "the CUDA that the driver speaks"
	case low.Known() && !low.Less(isa):
		return false, ""
	case high.Known() && high.Less(isa):
		return true, ""
	}
	return false, "which PTX version a driver for CUDA " + m.driver().cuda.Short() + " knows"
}

// assembles reports whether the Triton that comes with a row of torch compiles for every GPU here. Where the table does
// not know it, every Triton does for GPUs before Blackwell.
func (m *machine) assembles(r row) bool {
	if r.framework != "torch" {
		return true
	}
	i := slices.IndexFunc(r.companions, func(c pin.Package) bool { return c.Package == "triton" })
	t := m.t.Triton(version.Of(r.companions[i].Version))
	return !slices.ContainsFunc(m.gpus, func(g gpu) bool {
		switch {
		case t == nil:
			return g.capability.Major >= blackwell
		case g.capability.Major >= blackwell && t.PTXASBlackwell.Known():
			return jitCompiler{version: t.PTXASBlackwell}.older(g)
		}
		return jitCompiler{version: t.PTXAS}.older(g)
	})
}

// evidenceCode is the machine code that is there.
func (m *machine) evidenceCode(b *build, proof string) Evidence {
	list := slices.Concat(b.SASS, b.PTX)
	from := cmp.Or(b.Path, b.From)
	if b.bringsTorch() && proof == tableRow {
		list = nil
	}
	if proof == unsupported {
		least, _ := m.t.LeastCapability(b.Name, b.release.Number)
		return Evidence{Fact: "least compute capability", Value: least.String(), From: "trait.csv"}
	}
	if len(list) == 0 && len(b.rows) > 0 {
		list, from = b.rows[0].SASS, "table row "+b.rows[0].Release+" "+b.rows[0].Variant
	}
	if len(list) == 0 {
		return Evidence{Fact: "machine code", Value: proof, From: from}
	}
	return Evidence{Fact: "machine code", Value: strings.Join(list, " "), From: from}
}

// blackwell is the compute capability from which on Triton takes a ptxas of its own, where it brings two.
const blackwell = 10

// jitCompiler is what makes machine code for a GPU when a program runs.
type jitCompiler struct {
	name    string         // "Triton's ptxas"
	version version.Number // the CUDA release that it came with
	from    string         // where that was read
}

// older reports whether the compiler came before the GPU.
func (c jitCompiler) older(g gpu) bool {
	return g.chip != nil && g.chip.FirstCUDA.Known() && c.version.LessShort(g.chip.FirstCUDA) && !g.capability.Tegra()
}
