package ldso_test

import (
	"os"
	"strings"
	"testing"

	"cudacompat/internal/ldso"
)

// The benchmarks that need LDSO_LIBRARY (see real_test.go) are of PyTorch's libtorch_cuda.so or another
// large library.

func BenchmarkRead(b *testing.B) {
	library := os.Getenv("LDSO_LIBRARY")
	if library == "" {
		b.Skip("LDSO_LIBRARY names no file")
	}
	f, err := (&rootFS{}).Open(library)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := ldso.Read(f); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(f.Size())/(1<<20), "MB")
}

// BenchmarkClosure starts the interpreter and opens the library, with the reading of the cache and of
// the loader's directories.
func BenchmarkClosure(b *testing.B) {
	for b.Loop() {
		p := realLibrary(b)
		b.ReportMetric(float64(len(p.Objects)), "objects")
	}
}

func BenchmarkMissingNCCL(b *testing.B) {
	benchmarkMissing(b, func(s ldso.Symbol) bool { return strings.HasPrefix(s.Name, "nccl") })
}

func BenchmarkMissingAll(b *testing.B) { benchmarkMissing(b, nil) }

func benchmarkMissing(b *testing.B, want func(ldso.Symbol) bool) {
	p := realLibrary(b)
	o := p.Loaded(os.Getenv("LDSO_LIBRARY"))
	for b.Loop() {
		missing, err := p.MissingSymbols(o, want)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(missing)), "missing")
	}
}

func BenchmarkMissingVersions(b *testing.B) {
	p := realLibrary(b)
	for b.Loop() {
		for _, o := range p.Objects {
			if _, err := p.MissingVersions(o); err != nil {
				b.Fatal(err)
			}
		}
	}
}
