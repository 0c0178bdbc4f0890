package python

import (
	"bytes"
	"strconv"

	"cudacompat/probe/host"
)

// recorded reports whether a distribution's RECORD lists a file.
func recorded(h *host.Host, distInfo, file string) bool { return recordedAs(h, distInfo, file+",") }

// recordedAs reports whether a distribution's RECORD lists a file whose name begins so.
func recordedAs(h *host.Host, distInfo, beginning string) bool {
	record := h.ReadQuietly(distInfo + "/RECORD")
	return bytes.Contains(append([]byte("\n"), record...), []byte("\n"+beginning))
}

// resized reports whether a file has another size than a RECORD says,
// "nvidia/nccl/lib/libnccl.so.2,sha256=…,291703920".
func resized(h *host.Host, record []byte, name, full string) bool {
	_, line, found := bytes.Cut(append([]byte("\n"), record...), []byte("\n"+name+","))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	size, err := h.Size(full)
	return found && err == nil && !bytes.HasSuffix(bytes.TrimSpace(line), []byte(","+strconv.FormatInt(size, 10)))
}
