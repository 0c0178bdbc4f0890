package triage

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"cudacompat/data"
	"cudacompat/internal/tables"
)

// BenchmarkRead streams logs with one error at their end; it says how many megabytes a second one
// core reads. The training log is progress and information lines; the ordinary one, of which a sixth
// holds a literal and is no error, is worse than any real log.
func BenchmarkRead(b *testing.B) {
	ordinary, err := os.ReadFile("testdata/ordinary.log")
	if err != nil {
		b.Fatal(err)
	}
	training := bytes.Join(bytes.SplitAfterN(ordinary, []byte("\n"), 8)[:7], nil)
	for name, text := range map[string][]byte{"training": training, "ordinary": ordinary} {
		b.Run(name, func(b *testing.B) { benchmarkRead(b, text) })
	}
}

func benchmarkRead(b *testing.B, text []byte) {
	log := bytes.Repeat(text, 64<<20/len(text))
	log = append(log, "RuntimeError: CUDA error: device-side assert triggered\n"...)
	signatures := table(b)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Read(context.Background(), signatures, []Source{{Reader: bytes.NewReader(log)}})
		if err != nil || d.Cause != "device-side-assert" {
			b.Fatal(d, err)
		}
	}
}

// BenchmarkReadShort is what every call costs, however short the log.
func BenchmarkReadShort(b *testing.B) {
	signatures := table(b)
	for b.Loop() {
		if _, err := Read(context.Background(), signatures, []Source{{Reader: strings.NewReader("ok\n")}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignatures is what loading the table costs.
func BenchmarkSignatures(b *testing.B) {
	for b.Loop() {
		Signatures(tables.Open(data.FS))
	}
}
