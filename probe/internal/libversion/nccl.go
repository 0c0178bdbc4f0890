package libversion

import (
	"io"
	"math"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// NCCL reads the version of an NCCL library and the CUDA that it was built for, or returns "" for both if it has no
// banner.
func NCCL(h *host.Host, name string) (version, cuda string, err error) {
	f, err := h.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	version, cuda, err = ncclBanner(f)
	if err != nil {
		return "", "", host.Damaged(name, err.Error())
	}
	return version, cuda, nil
}

var ncclVersion = lazyregexp.New(`NCCL version (\d+\.\d+\.\d+)[^+\x00\n]*\+cuda(\d+\.\d+)`)

// ncclBanner finds "NCCL version 2.21.5+cuda12.4" among a library's constants; NCCL puts it there to be found. It
// reads .rodata only: the machine code around it is a hundred times larger.
func ncclBanner(r io.ReaderAt) (version, cuda string, err error) {
	constants, err := host.Constants(r)
	if err != nil {
		return "", "", err
	}
	m, err := host.Search(constants, "NCCL version ", ncclVersion, math.MaxInt64)
	if m == nil {
		return "", "", err
	}
	return m[1], m[2], nil
}
