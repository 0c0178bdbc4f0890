package libversion

import (
	"bytes"
	"io"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// NCCL reads the version of an NCCL library and the CUDA that it was built for; both are empty when it carries no
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
// reads .rodata alone: the machine code around it is a hundred times larger.
func ncclBanner(r io.ReaderAt) (version, cuda string, err error) {
	data, err := host.Constants(r)
	if err != nil {
		return "", "", err
	}
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("NCCL version "))
		if i < 0 {
			return "", "", nil
		}
		at += i
		if m := ncclVersion.FindSubmatch(data[at:min(at+64, len(data))]); m != nil {
			return string(m[1]), string(m[2]), nil
		}
		at++
	}
}
