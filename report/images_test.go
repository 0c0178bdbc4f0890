package report

import (
	"strings"
	"testing"

	"cudacompat/matrix"

	"github.com/google/go-cmp/cmp"
)

// TestImages: a table of images keeps its columns where there is room for sentences beside them; a pipe gets a line a row.
func TestImages(t *testing.T) {
	broken := Report{Verdict: matrix.Verdict{Outcome: matrix.Incompatible, Findings: []matrix.Finding{{Rule: "driver-too-old",
		Severity: matrix.Error, Subject: "torch 2.9.0", Target: "g6.xlarge", Message: "torch 2.9.0 cannot run on driver 535.183.01"}}}}
	sound := Report{Verdict: matrix.Verdict{Outcome: matrix.Compatible}, Targets: []Target{{Instance: "g6.xlarge"}}}
	rows := []ImageRow{{"train\x1b.tar", "g6.xlarge", broken}, {"serve-2.tar", "g6.xlarge", sound}}
	for _, c := range []struct {
		style Style
		want  string
	}{
		{Style{}, `1 of 2 work with driver 535.183.01

train�.tar   g6.xlarge  incompatible: torch 2.9.0 cannot run on driver 535.183.01
serve-2.tar  g6.xlarge  compatible: the driver supports the GPU; no PyTorch, TensorFlow or JAX was found
`},
		{Style{Width: 64}, `1 of 2 work with driver 535.183.01

train�.tar   g6.xlarge  incompatible: torch 2.9.0 cannot run on
                        driver 535.183.01
serve-2.tar  g6.xlarge  compatible: the driver supports the GPU;
                        no PyTorch, TensorFlow or JAX was found
`},
		{Style{Width: 50, ASCII: true, Colour: true}, "1 of 2 work with driver 535.183.01\n\n" +
			"train?.tar  g6.xlarge\n    \x1b[31;1mincompatible\x1b[0m: torch 2.9.0 cannot run on driver\n    535.183.01\n" +
			"serve-2.tar  g6.xlarge\n    \x1b[32;1mcompatible\x1b[0m: the driver supports the GPU; no\n    PyTorch, TensorFlow or JAX was found\n"},
	} {
		var out strings.Builder
		if err := Images(&out, rows, "535.183.01", c.style); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", c.style.Width, diff)
		}
	}
	if rows[0].Findings[0].Target == "" || rows[1].Targets == nil {
		t.Error("the reports have changed")
	}
}
