package pins

import (
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// imageSteps names the newest CUDA image that the driver runs.
func imageSteps(m *model.Machine) []pin.Step {
	var newest version.Number
	for _, c := range tables.Rows[tables.Container](m.Tables) {
		if c.Image == cudaof.CUDAImage && m.Reached(c.CUDA) && newest.Less(c.CUDA) {
			newest = c.CUDA
		}
	}
	if !newest.Known() {
		return nil
	}
	return []pin.Step{pin.Say("build it on an image of CUDA " + newest.Short() + " or older, which this driver runs")}
}
