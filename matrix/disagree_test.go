package matrix

import (
	"context"
	"testing"

	"cudacompat/data"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestDisagreements compares what was read with the row of torch 2.8.0+cu128, which wheel
// torch-2.8.0 sha256:c12fa219f51a933d5f80eeb3a7a5d0cbe9168c0a14bbb4055f1979431660879b told.
func TestDisagreements(t *testing.T) {
	tables, err := Load(data.FS)
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"}
	for _, c := range []struct {
		name  string
		build facts.Build
		want  string // what the table says; empty: they agree, or nothing is compared
	}{
		{"same", facts.Build{Name: "torch", Version: "2.8.0+cu128", SASS: own}, ""},
		{"other-order", facts.Build{Name: "torch", Version: "2.8.0+cu128",
			SASS: []string{"sm_120", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100"}}, ""},
		{"fewer", facts.Build{Name: "torch", Version: "2.8.0+cu128", SASS: own[2:]},
			"sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"},
		{"ptx", facts.Build{Name: "torch", Version: "2.8.0+cu128", SASS: own, PTX: []string{"compute_120"}},
			"sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"},
		{"not-read", facts.Build{Name: "torch", Version: "2.8.0+cu128"}, ""},
		{"one-of-the-variants", facts.Build{Name: "torch", Version: "2.8.0", Accelerator: "cuda", SASS: own}, ""},
		{"not-of-the-table", facts.Build{Name: "torch", Version: "2.8.0+cu128", Origin: "conda-forge", SASS: own[:1]}, ""},
		{"no-row", facts.Build{Name: "torch", Version: "2.8.99+cu128", SASS: own[:1]}, ""},
		{"tensorflow", facts.Build{Name: "tensorflow", Version: "2.20.0", CUDA: "12.5.1",
			SASS: []string{"sm_60", "sm_70", "sm_80", "sm_89"}, PTX: []string{"compute_90", "compute_90a"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := facts.Facts{System: facts.System{Arch: "x86_64"},
				Environments: []facts.Environment{{Path: "/opt/venv", Builds: []facts.Build{c.build}}}}
			list := Check(context.Background(), tables, f, []Target{{Instance: "g5.xlarge"}, {Instance: "p5.48xlarge"}},
				verdict.Policy{}).Disagreements
			got := ""
			if len(list) > 0 {
				got = list[0].Table
			}
			if got != c.want || len(list) > 1 {
				t.Errorf("the table says %q in %+v, want %q", got, list, c.want)
			}
		})
	}
}
