package plaintext

import (
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestImages checks that machines with the same result share a line, that a table keeps its columns if the sentences
// have room, and that a pipe gets a line for each.
func TestImages(t *testing.T) {
	broken := report.Report{Verdict: verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{{Rule: "driver-too-old",
		Severity: verdict.Error, Subject: "torch 2.9.0", Target: "g6.xlarge", Message: "torch 2.9.0 cannot run on driver 535.183.01"}}}}
	sound := report.Report{Verdict: verdict.Verdict{Outcome: verdict.Compatible}, Targets: []report.Target{{Instance: "g6.xlarge"}}}
	cut := report.Report{Verdict: verdict.Verdict{Outcome: verdict.Inconclusive}, Facts: facts.Facts{Unread: []facts.Unread{{Place: "cut.tar", Reason: "it ends in the middle"}}}}
	rows := []ImageRow{{"train\x1b.tar", "g6.xlarge", broken}, {"train\x1b.tar", "g5.xlarge", broken}, {"mixed.tar", "g6.xlarge", broken},
		{"cut.tar", "g6.xlarge", cut}, {"cut.tar", "g5.xlarge", cut}, {"mixed.tar", "g5.xlarge", sound},
		{"serve-2.tar", "g6.xlarge", sound}, {"serve-2.tar", "g5.xlarge", sound}}
	for _, c := range []struct {
		rows  []ImageRow
		style layout.Style
		want  string
	}{
		{rows, layout.Style{}, `1 of 4 images work on all 2 machines with driver 535.183.01

train�.tar   incompatible: torch 2.9.0 cannot run on driver 535.183.01
mixed.tar    incompatible on g6.xlarge: torch 2.9.0 cannot run on driver 535.183.01
cut.tar      inconclusive: not read: it ends in the middle
mixed.tar    compatible on g5.xlarge: the driver supports the GPU; no PyTorch, TensorFlow or JAX was found
serve-2.tar  compatible: the driver supports the GPU; no PyTorch, TensorFlow or JAX was found
`},
		{rows[6:7], layout.Style{Width: 54}, `1 of 1 image work on g6.xlarge with driver 535.183.01

serve-2.tar  compatible: the driver supports the GPU;
             no PyTorch, TensorFlow or JAX was found
`},
		{rows[:1], layout.Style{Width: 50, ASCII: true, Colour: true}, "0 of 1 image work on g6.xlarge with driver\n535.183.01\n\n" +
			"train?.tar\n    \x1b[31;1mincompatible\x1b[0m: torch 2.9.0 cannot run on driver\n    535.183.01\n"},
	} {
		var out strings.Builder
		if err := WriteImages(&out, c.rows, "535.183.01", c.style); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", c.style.Width, diff)
		}
	}
	if rows[0].Findings[0].Target == "" || rows[7].Targets == nil {
		t.Error("the reports have changed")
	}
}
