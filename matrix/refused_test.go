package matrix

import (
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
)

// TestRefusedPins checks that a file which pins a library to another release than its torch requires is incompatible,
// because no installer accepts it.
func TestRefusedPins(t *testing.T) {
	for _, c := range []struct{ lines, rule string }{
		{"torch==2.9.0\nnvidia-nccl-cu12==2.18.1\n", "nccl-mismatch"},
		{"torch==2.9.0\nnvidia-cudnn-cu12==9.12.0.46\n", "cudnn-mismatch"},
		{"torch==2.9.0\nnvidia-nccl-cu12==2.27.5\nnvidia-cudnn-cu12==9.10.2.21\n", ""},
		{"torch==2.9.0\nnvidia-nccl-cu12==2.27.*\n", ""},
		{"torch==2.9.0\nnvidia-nccl-cu12>=2.18\n", ""},
		{"torch==2.9.0\nnvidia-nccl-cu12==2.18.1; platform_machine == 'aarch64'\n", ""},
	} {
		v := fileOn(t, Embedded(), c.lines, "550", "A100")
		got := ""
		for _, f := range v.Findings {
			if f.Severity == verdict.Error && strings.Contains(f.Message, "no installer accepts both") {
				got += f.Rule
			}
		}
		if got != c.rule || (v.Outcome == verdict.Incompatible) != (c.rule != "") {
			t.Errorf("%q: %s, error of %q, want %q", c.lines, v.Outcome, got, c.rule)
		}
	}
}
