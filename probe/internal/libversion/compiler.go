package libversion

import (
	"io"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// How far into its constants a compiler of CUDA's has its banner at most: 15 kB in the ptxas of Triton 2.0 to 3.9;
// 4 MB in NVRTC 11.8 to 13.0.
const (
	PTXAS = 1 << 20
	NVRTC = 16 << 20
)

var compilerBanner = lazyregexp.New(`Cuda compilation tools, release \d+\.\d+, V(\d+(?:\.\d+)+)`)

// Compiler reads the release of CUDA that a compiler is of, empty when it carries no banner within so many bytes of its
// constants. It is what `ptxas --version` prints:
//
//	Cuda compilation tools, release 12.8, V12.8.93
func Compiler(r io.ReaderAt, within int64) (string, error) {
	constants, err := host.Constants(r)
	if err != nil {
		return "", err
	}
	return host.SearchFirst(constants, "Cuda compilation tools", compilerBanner, within)
}
