package finding

import (
	"testing"

	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// FuzzComplaint checks that a sentence is read or not, and that its subject has an answer.
func FuzzComplaint(f *testing.F) {
	for _, a := range record.Areas {
		f.Add("error: " + a.Answer)
	}
	f.Add("Failed to open /dev/nvidia0: Operation not permitted")
	f.Add("ERROR: x is not installed")
	f.Fuzz(func(t *testing.T, line string) {
		r := record.ReadComplaint(logtext.Line{Number: 1, Text: logtext.Clean([]byte(line))})
		if r == nil {
			return
		}
		demangle(line)
		r.Final = true
		if about := weighComplaint(r, record.Tables()); about != "" && FindAnswer(about).Cause == "" {
			t.Fatalf("%q is about %q, which has no answer", line, about)
		}
	})
}
