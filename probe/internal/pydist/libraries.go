package pydist

import "cudacompat/internal/lazyregexp"

// Minimum sizes of libraries worth reading, in bytes. One with kernels for a single GPU has some hundred kilobytes, and
// its name shows what it is. Hundreds of small modules of other packages do not.
const (
	anySize   = 1 << 20
	NamedSize = 16 << 10
)

// CUDAWords matches the paths of libraries that say that they are for the GPU: "torchao/_C_cutlass_100a.abi3.so".
var CUDAWords = lazyregexp.New(`(?i)cuda|cutlass|cublas|cudnn|nccl|nvrtc|gpu|torch`)

// WorthReading reports whether a file is a library that may hold CUDA code, by its name and size.
func WorthReading(name []byte, size int64) bool {
	return (size >= anySize || size >= NamedSize && CUDAWords.Match(name)) && LibraryFile.Match(name)
}

var (
	// LibraryFile matches the names of shared libraries.
	LibraryFile = lazyregexp.New(`\.so(\.\d+)*$`)
	// FamilyFile matches the names of libraries that contain their CUDA version, "libbitsandbytes_cuda128.so".
	FamilyFile = lazyregexp.New(`_cu(?:da)?(1[0-9])(\d)(_\w+)?(?:\.cpython-[\w-]+|\.abi3)?\.so$`)
)

// NamedForCUDA matches the names of distributions that contain a CUDA version, "cuvs-cu13", "cupy-cuda12x".
var NamedForCUDA = lazyregexp.New(`-cu(da)?\d+x?$`)
