package smi

import (
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestMonitor counts the GPUs of nvidia-smi topo and dmon, and takes the memory errors of the last second.
func TestMonitor(t *testing.T) {
	for text, want := range map[string][]uint64{
		"# gpu  sbecc  dbecc    pci\n# Idx   errs   errs   errs\n    0      0      2      0\n    1      0      0      0\n    0      0      3      0\n": {3, 0},
		"# gpu    pwr  gtemp\n# Idx      W      C\n    0     28     39\n":                                                                              {0},
		"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-47\t0\nGPU1\tNV18\t X \t0-47\t0\n\nLegend:\n":                                   {0, 0},
	} {
		d := document.Document{Data: []byte(text)}
		f, err := ReadMonitor(d)
		if !IsMonitor(d) || err != nil || len(f.GPUs) != len(want) || len(f.Unread) != 1 {
			t.Errorf("%q: %v, %+v", text, err, f)
			continue
		}
		for i, n := range want {
			if got := f.GPUs[i].Health; got == nil && n > 0 || got != nil && got.Uncorrectable != n {
				t.Errorf("%q: GPU %d has %+v, want %d errors", text, i, got, n)
			}
		}
	}
}
