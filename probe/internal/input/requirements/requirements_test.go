package requirements

import (
	"runtime"
	"strings"
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestRecognisingKeepsNothing checks that recognising a requirements file keeps no lines, because their number is
// limited only afterwards.
func TestRecognisingKeepsNothing(t *testing.T) {
	allocated := func(lines int) uint64 {
		d := document.Document{Data: []byte("torch==2.9.0\n" + strings.Repeat("-i a\n", lines))}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if !Is(d) {
			t.Fatalf("%d indexes are no requirements", lines)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1) // what is compiled once
	if few, many := allocated(2000), allocated(8000); many > 8*few {
		t.Errorf("%d bytes for 2,000 indexes, %d for 8,000", few, many)
	}
}
