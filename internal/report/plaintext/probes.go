package plaintext

import (
	"fmt"
	"io"

	"cudacompat/internal/report/layout"
	"cudacompat/probe/facts"
)

// WriteProbes writes a line for each probe: "probe driver: failed, 3.2 ms: /proc/driver/nvidia/version: …".
func WriteProbes(w io.Writer, probes []facts.Status) {
	for _, s := range probes {
		fmt.Fprintln(w, layout.Clean(layout.JoinNonEmpty(": ", "probe "+s.Name, fmt.Sprintf("%s, %.1f ms", s.Status, s.Seconds*1000), s.Error)))
	}
}
