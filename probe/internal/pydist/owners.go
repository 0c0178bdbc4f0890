package pydist

import (
	"bytes"

	"cudacompat/probe/host"
)

// SizeIn is the size that a distribution's RECORD says of a file; -1 where it does not list it.
func SizeIn(h *host.Host, info, file string) int64 {
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		if bytes.HasPrefix(line, []byte(file+",")) {
			_, size := recordedFile(line)
			return size
		}
	}
	return -1
}
