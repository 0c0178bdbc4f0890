package pydist

import (
	"bytes"
	"strconv"

	"cudacompat/probe/host"
)

// IsRecorded reports whether a distribution's RECORD lists a file.
func IsRecorded(h *host.Host, distInfo, file string) bool { return RecordedAs(h, distInfo, file+",") }

// RecordedAs reports whether a distribution's RECORD lists a file whose name begins so.
func RecordedAs(h *host.Host, distInfo, beginning string) bool {
	return h.HasLine(distInfo+"/RECORD", beginning)
}

// lineBeginning is the rest of the first line that begins so.
func lineBeginning(text []byte, with string) (rest []byte, found bool) {
	rest, found = bytes.CutPrefix(text, []byte(with))
	if !found {
		_, rest, found = bytes.Cut(text, []byte("\n"+with))
	}
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	return rest, found
}

// IsResized reports whether a file has another size than a RECORD says,
// "nvidia/nccl/lib/libnccl.so.2,sha256=…,291703920".
func IsResized(h *host.Host, record []byte, name, full string) bool {
	line, found := lineBeginning(record, name+",")
	size, err := h.Size(full)
	return found && err == nil && !bytes.HasSuffix(bytes.TrimSpace(line), []byte(","+strconv.FormatInt(size, 10)))
}
