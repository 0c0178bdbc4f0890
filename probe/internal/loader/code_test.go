package loader

import (
	"testing"

	"cudacompat/internal/fatbin"
	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestTakeCode joins the code of two libraries of one build. Rare targets are left out of the lists, but not their
// compression, and the newest version of a target's PTX counts.
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
