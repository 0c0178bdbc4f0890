package python

import (
	"bytes"
	"strconv"

	"cudacompat/probe/host"
)

// isRecorded reports whether a distribution's RECORD lists a file.
func isRecorded(h *host.Host, distInfo, file string) bool { return recordedAs(h, distInfo, file+",") }

// recordedAs reports whether a distribution's RECORD lists a file whose name begins so.
func recordedAs(h *host.Host, distInfo, beginning string) bool {
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

// isResized reports whether a file has another size than a RECORD says,
// "nvidia/nccl/lib/libnccl.so.2,sha256=…,291703920".
func isResized(h *host.Host, record []byte, name, full string) bool {
	line, found := lineBeginning(record, name+",")
	size, err := h.Size(full)
	return found && err == nil && !bytes.HasSuffix(bytes.TrimSpace(line), []byte(","+strconv.FormatInt(size, 10)))
}
