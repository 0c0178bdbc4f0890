package driver

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
)

// licenceScanner finds the licence in a module's bytes as they are written to it. In .modinfo it is next to the
// version.
type licenceScanner struct {
	flavour string // "open" or "proprietary"; empty until it is seen
	kept    []byte // the end of what went by, where a licence may have begun
}

// licenceField matches "license=NVIDIA" of the proprietary module or "license=Dual MIT/GPL" of the open one.
var licenceField = lazyregexp.New(`(?:^|\x00)license=(NVIDIA|Dual MIT/GPL)\x00`)

// Write scans the next bytes. It never fails.
func (w *licenceScanner) Write(p []byte) (int, error) {
	if w.flavour != "" {
		return len(p), nil
	}
	data := append(w.kept, p...)
	if bytes.Contains(data, []byte("license=")) {
		if m := licenceField.FindSubmatch(data); m != nil {
			w.flavour = "open"
			if string(m[1]) == "NVIDIA" {
				w.flavour = "proprietary"
			}
		}
	}
	const longest = 32
	w.kept = append([]byte(nil), data[max(0, len(data)-longest):]...)
	return len(p), nil
}
