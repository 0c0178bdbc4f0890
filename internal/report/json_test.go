package report

import (
	"strings"
	"testing"

	"cudacompat/internal/report/layout"
	"cudacompat/probe/facts"
)

// TestFactsOnOneLineFitIntoALog checks that facts for fleet are one line below 16 KiB, for any number of GPUs and
// environments, and can be read back.
func TestFactsOnOneLineFitIntoALog(t *testing.T) {
	small := facts.Facts{Schema: facts.Schema, Driver: facts.Driver{Version: "580.95.05"}}
	large := small
	for i := range 200 {
		large.GPUs = append(large.GPUs, facts.GPU{Name: "NVIDIA H100 80GB HBM3", Bus: strings.Repeat("0", i)})
	}
	for _, f := range []facts.Facts{small, large} {
		var b strings.Builder
		if err := FactsFormats[1].Write(&b, f, layout.Style{}); err != nil {
			t.Fatal(err)
		}
		line := b.String()
		if len(line) >= 16<<10 || strings.Count(line, "\n") != 1 {
			t.Errorf("%d bytes, %d lines", len(line), strings.Count(line, "\n"))
		}
		if packed := strings.HasPrefix(line, `{"schema":"cudacompat/packed/v1","gzip":"H4sI`); packed != (len(f.GPUs) > 0) {
			t.Errorf("packed: %v: %.60s", packed, line)
		}
	}
}
