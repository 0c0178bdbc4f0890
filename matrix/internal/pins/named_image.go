package pins

import (
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// imageSteps names the CUDA images that the driver runs and whose CUDA compiles for every GPU.
func imageSteps(m *model.Machine) []pin.Step {
	var newest, oldest, least version.Number
	for _, c := range tables.Rows[tables.Container](m.Tables) {
		if c.Image != cudaof.CUDAImage {
			continue
		}
		if !least.Known() || c.CUDA.Less(least) {
			least = c.CUDA
		}
		if !m.Reached(c.CUDA) || !compilesFor(m, c.CUDA) {
			continue
		}
		if newest.Less(c.CUDA) {
			newest = c.CUDA
		}
		if !oldest.Known() || c.CUDA.Less(oldest) {
			oldest = c.CUDA
		}
	}
	why := ", which this driver runs"
	if len(m.GPUs) > 0 {
		why = ", which this driver runs and which has code for " + m.GPUs[0].Label
	}
	switch {
	case !newest.Known():
		return nil
	case oldest.Short() == newest.Short():
		return []pin.Step{pin.Say("build it on an image of CUDA " + newest.Short() + why)}
	case oldest.Short() == least.Short():
		return []pin.Step{pin.Say("build it on an image of CUDA " + newest.Short() + " or older" + why)}
	}
	return []pin.Step{pin.Say("build it on an image of CUDA " + oldest.Short() + " to " + newest.Short() + why)}
}

// compilesFor reports whether a toolkit compiles for every GPU. A toolkit older than a GPU does if it compiles for an
// older one of the same major capability, whose code runs on it.
func compilesFor(m *model.Machine, cuda version.Number) bool {
	for _, g := range m.GPUs {
		if g.Chip == nil {
			continue
		}
		first := firstOfMajor(m.Tables, g.Chip)
		if first.Known() && cuda.LessShort(first) || g.Chip.LastCUDA.Known() && g.Chip.LastCUDA.LessShort(cuda) {
			return false
		}
	}
	return true
}

// firstOfMajor returns the first toolkit whose machine code runs on a chip.
func firstOfMajor(t *tables.Tables, chip *tables.Chip) version.Number {
	first := chip.FirstCUDA
	for _, c := range tables.Rows[tables.Chip](t) {
		if c.Capability.Major == chip.Capability.Major && chip.Capability.AtLeast(c.Capability) &&
			c.Capability.Tegra() == chip.Capability.Tegra() && c.FirstCUDA.LessShort(first) {
			first = c.FirstCUDA
		}
	}
	return first
}
