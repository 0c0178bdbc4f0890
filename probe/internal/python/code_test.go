package python

import (
	"os"
	"testing"

	"cudacompat/internal/fatbin"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestTakeCode joins the code of two libraries of one build: rare targets are left out of the lists, their
// compression is not, and of a target's PTX the newest version stands.
func TestTakeCode(t *testing.T) {
	b := &facts.Build{}
	takeCode(b, fatbin.Code{
		SASS: []fatbin.Target{{Arch: 80, Containers: 20, Zstd: true},
			{Arch: 90, Suffix: "a", Containers: 2, Zstd: true}, {Arch: 90, Containers: 20}},
		PTX: []fatbin.Target{{Arch: 90, PTXVersion: "8.7", Containers: 20},
			{Arch: 52, PTXVersion: "9.9", Containers: 1}},
	})
	takeCode(b, fatbin.Code{
		SASS: []fatbin.Target{{Arch: 80, Containers: 3}},
		PTX: []fatbin.Target{{Arch: 90, PTXVersion: "8.10", Containers: 3},
			{Arch: 120, PTXVersion: "9.0", Containers: 3}},
	})
	want := &facts.Build{SASS: []string{"sm_80", "sm_90"}, PTX: []string{"compute_90", "compute_120"},
		Zstd:   []string{"sm_80", "sm_90a"},
		PTXISA: map[string]string{"compute_90": "8.10", "compute_120": "9.0"}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("build differs (-want +got):\n%s", diff)
	}
}

// TestDamagedCode says of a library that is cut short what is wrong with it; one that is not there is no damage.
func TestDamagedCode(t *testing.T) {
	h := hosttest.Tree(t, "-- v/torch/version.py --\n__version__ = '2.8.0+cu128'\ncuda = '12.8'\n"+
		"-- v/torch/lib/libtorch_cuda.so --\nnot an ELF file\n-- w/torch/version.py --\n__version__ = '2.8.0+cu128'\n"+
		"cuda = '12.8'\n")
	const want = "/v/torch/lib/libtorch_cuda.so: not an ELF file: too short; is the file damaged?"
	if b, err := torchBuild(h, &site{dir: "/v"}); err == nil || b.Damaged != want {
		t.Errorf("%+v, %v; want %s", b, err, want)
	}
	if b, err := torchBuild(h, &site{dir: "/w"}); err != nil || b.Damaged != "" {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestRealBuild probes the environment that CUDACOMPAT_ENV names and prints its builds' code and libraries, by hand:
//
//	CUDACOMPAT_ENV=/opt/venv go test -v -run RealBuild ./probe/internal/python
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

// Each section that was built for one set of targets is a fact of its own: libtensorflow_cc.so.2 of TensorFlow 2.20.0.
func TestTakeGroups(t *testing.T) {
	b := &facts.Build{}
	takeGroups(b, "/opt/venv/tensorflow/libtensorflow_cc.so.2", []fatbin.Group{
		{Section: ".nv_fatbin", SASS: []fatbin.Target{{Arch: 90}}, Containers: 248},
		{Section: ".rodata", SASS: []fatbin.Target{{Arch: 80}, {Arch: 89}},
			PTX: []fatbin.Target{{Arch: 90, Suffix: "a", PTXVersion: "8.5"}}, Containers: 1149},
	})
	want := []facts.CodeGroup{
		{Library: "/opt/venv/tensorflow/libtensorflow_cc.so.2", Section: ".nv_fatbin", Containers: 248,
			SASS: []string{"sm_90"}, PTXISA: map[string]string{}},
		{Library: "/opt/venv/tensorflow/libtensorflow_cc.so.2", Section: ".rodata", Containers: 1149,
			SASS: []string{"sm_80", "sm_89"},
			PTX:  []string{"compute_90a"}, PTXISA: map[string]string{"compute_90a": "8.5"}},
	}
	if diff := cmp.Diff(want, b.Groups); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
