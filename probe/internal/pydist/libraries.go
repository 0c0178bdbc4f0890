package pydist

import (
	"bytes"
	"strconv"

	"cudacompat/internal/lazyregexp"
)

// Least sizes of libraries worth reading, in bytes. One with kernels for a single GPU has some hundred kilobytes; it
// says by its name what it is, where hundreds of small modules of other packages do not.
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
	LibraryFile = lazyregexp.New(`\.so(\.\d+)*$`)
	FamilyFile  = lazyregexp.New(`_cu(?:da)?(1[0-9])(\d)(_\w+)?(?:\.cpython-[\w-]+|\.abi3)?\.so$`)
)

// LibrariesIn lists the libraries of a RECORD that are worth reading, such as
// "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so,sha256=…,987654321". RECORDs can have ten thousands of lines.
func LibrariesIn(record []byte) []string { return LibrariesFrom(record, WorthReading) }

func LibrariesFrom(record []byte, worth func(name []byte, size int64) bool) []string {
	var list []string
	for line := range bytes.Lines(record) {
		if !bytes.Contains(line, []byte(".so")) {
			continue
		}
		name, rest, _ := bytes.Cut(line, []byte(","))
		_, size, ok := bytes.Cut(rest, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
		if ok && err == nil && worth(name, n) && !bytes.HasPrefix(name, []byte("..")) {
			list = append(list, string(name))
		}
	}
	return list
}

// NamedForCUDA matches the names of distributions that tell a CUDA family, "cuvs-cu13", "cupy-cuda12x".
var NamedForCUDA = lazyregexp.New(`-cu(da)?\d+x?$`)
