package pyenv

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/distname"
)

func TestParseCondaName(t *testing.T) {
	for file, want := range map[string]condaRecord{
		"pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json": {name: "pytorch", version: "2.5.1",
			Build: "py3.10_cuda12.4_cudnn9.1.0_0"},
		"pytorch-cuda-12.4-hc786d27_7.json": {name: "pytorch-cuda", version: "12.4",
			Build: "hc786d27_7"},
		"pytorch-2.13.0-cuda129_mkl_py312_h5d0eb3e_302.json": {name: "pytorch", version: "2.13.0",
			Build: "cuda129_mkl_py312_h5d0eb3e_302"},
		"nccl-2.30.4.1-h4d09622_0.json": {name: "nccl", version: "2.30.4.1", Build: "h4d09622_0"},
		"_libgcc_mutex-0.1-conda_forge.json": {name: "_libgcc_mutex", version: "0.1",
			Build: "conda_forge"},
		"history": {}, "state.json": {}, "a-b.json": {}, "-1-2.json": {},
		"--.json": {}, "pytorch-2.5.1-0.json.c~": {},
	} {
		got, ok := parseCondaName(file)
		if got != want || ok != (want.name != "") {
			t.Errorf("parseCondaName(%q) = %+v, %v", file, got, ok)
		}
	}
}

// TestCondaVersionOfPython keeps the "t" of a free-threaded Python, which conda's version does not have.
func TestCondaVersionOfPython(t *testing.T) {
	h := hosttest.Tree(t, "-- opt/conda/conda-meta/python-3.13.1-h9a34b6e_0_cp313t.json --\n"+
		"-- opt/conda/lib/python3.13t/site-packages/x --\n")
	list := PrefixesAt(h, "/opt/conda", &host.Errors{})
	if len(list) != 1 || list[0].Python != "3.13t" || list[0].Kind != "conda" {
		t.Errorf("got %+v", list)
	}
}

func FuzzParseCondaName(f *testing.F) {
	f.Add("pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json")
	f.Add("pytorch-cuda-12.4-hc786d27_7.json")
	f.Fuzz(func(t *testing.T, file string) {
		if r, ok := parseCondaName(file); ok && (r.name == "" || r.name+"-"+r.version+"-"+r.Build+".json" != file) {
			t.Errorf("%+v", r)
		}
		if origin := distname.CondaOrigin(file); origin != "conda" && origin != "conda-forge" {
			t.Errorf("origin %q", origin)
		}
	})
}
