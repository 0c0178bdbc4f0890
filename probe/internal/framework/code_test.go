package framework

import (
	"os"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestDamagedCode checks the error for a truncated library. A missing one is not damaged.
func TestDamagedCode(t *testing.T) {
	h := hosttest.Tree(t, "-- v/torch/version.py --\n__version__ = '2.8.0+cu128'\ncuda = '12.8'\n"+
		"-- v/torch/lib/libtorch_cuda.so --\nnot an ELF file\n-- w/torch/version.py --\n__version__ = '2.8.0+cu128'\n"+
		"cuda = '12.8'\n")
	const want = "/v/torch/lib/libtorch_cuda.so: not an ELF file: too short; is the file damaged?"
	if b, err := torchBuild(h, &pyenv.Site{Dir: "/v"}); err == nil || b.Damaged != want {
		t.Errorf("%+v, %v; want %s", b, err, want)
	}
	if b, err := torchBuild(h, &pyenv.Site{Dir: "/w"}); err != nil || b.Damaged != "" {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestRealBuild probes the environment that CUDACOMPAT_ENV names and prints its builds' code and libraries, by hand:
//
//	CUDACOMPAT_ENV=/opt/venv go test -v -run RealBuild ./probe/internal/framework
func TestRealBuild(t *testing.T) {
	root := os.Getenv("CUDACOMPAT_ENV")
	if root == "" {
		t.Skip("CUDACOMPAT_ENV names no environment")
	}
	found, err := Read(host.This(), []string{root})
	if err != nil {
		t.Error(err)
	}
	var f facts.Facts
	f.Environments = found.Environments
	for _, b := range f.Environments[0].Builds {
		t.Logf("%s %s\n\tSASS %v\n\tPTX %v %v\n\tzstd %v\n\tmissing %v", b.Name, b.Version+" CUDA "+b.CUDA, b.SASS,
			b.PTX, b.PTXISA, b.Zstd, b.Missing)
		for _, u := range b.Unresolved {
			t.Logf("\t%+v", u)
		}
		for _, taken := range b.Taken {
			t.Logf("\t%s %s: %s", taken.Name, taken.Path, taken.Reason)
		}
	}
}
