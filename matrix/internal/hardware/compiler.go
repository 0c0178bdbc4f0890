package hardware

import (
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
)

// NewerPTX compares a PTX version with those that the driver's compiler knows. missing is the fact that is not known.
func (m *Machine) NewerPTX(cuda, isa version.Number) (newer bool, missing verdict.MissingFact) {
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
