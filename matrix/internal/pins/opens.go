package pins

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
)

// Covers reports whether a release has machine code for every GPU here.
func Covers(m *model.Machine, e tables.Extension) bool {
	return !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		return version.Cover(e.SASS, nil,
			g.Capability) != version.BySASS
	})
}

// SameProject reports whether two names belong to one project: CuPy has a name for every CUDA.
func SameProject(a, b string) bool {
	return a == b || strings.HasPrefix(a, "cupy-cuda") && strings.HasPrefix(b, "cupy-cuda")
}
