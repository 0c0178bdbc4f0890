package pydist

import (
	"cudacompat/internal/lazyregexp"
)

// RequiresCUDA matches a requirement of one of NVIDIA's libraries, "Requires-Dist: nvidia-nccl-cu12; …".
var RequiresCUDA = lazyregexp.New(`(?m)^Requires-Dist: (nvidia-|cuda-)`)
