package scan

import (
	"strings"
	"testing"
)

// FuzzFinish checks for any end of a log, in any pieces, that the line after which only work is told is one of its
// last.
func FuzzFinish(f *testing.F) {
	work := strings.Repeat("step 7: loss 0.25\n", 5)
	f.Add([]byte(work), 7)
	f.Add([]byte("torch.cuda.OutOfMemoryError: CUDA out of memory.\n"+work), 100)
	f.Add([]byte(work+strings.Repeat("torch==2.8.0\n", 70)), 100)
	f.Add([]byte("100%|x| 1 it/s\rdone\r\n\nstep 1\nstep 2\nexit code 0\n"), 1)
	f.Fuzz(func(t *testing.T, log []byte, piece int) {
		var whole, parts finish
		whole.keep(log)
		size := 1 + max(piece, 0)%(2*maxEnding)
		for rest := log; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			parts.keep(rest[:min(size, len(rest))])
		}
		if string(whole.text) != string(parts.text) {
			t.Fatalf("%d bytes whole, %d in pieces", len(whole.text), len(parts.text))
		}
		breaks := strings.Count(string(log), "\n")
		_, last := whole.lines(breaks)
		if n := whole.findWorkAfter(breaks); n != 0 && (n <= last-lastSaid || n > last) {
			t.Errorf("line %d of %d", n, last)
		}
	})
}
