package matrix

import (
	"context"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"
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
		// the output of pip freeze: an environment that exists
		{"filelock==3.18.0\nfsspec==2025.5.1\nJinja2==3.1.6\nnetworkx==3.5\nnvidia-cudnn-cu12==9.12.0.46\n" +
			"nvidia-nccl-cu12==2.28.9\nsympy==1.14.0\ntorch==2.9.0\ntyping_extensions==4.14.0\n", ""},
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

// TestOverriddenPin checks that an override of uv, which replaces what torch requires, is no conflict with it.
func TestOverriddenPin(t *testing.T) {
	const project = `[project]
name = "a"
version = "1"
dependencies = ["torch==2.9.0", "nvidia-nccl-cu12==2.28.9"]
`
	for text, want := range map[string]verdict.Outcome{
		project: verdict.Incompatible,
		project + "[tool.uv]\noverride-dependencies = [\"nvidia-nccl-cu12==2.28.9\"]\n": verdict.Compatible,
	} {
		f, err := probe.GivenFile(probe.Document{Name: "pyproject.toml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		v := Check(context.Background(), Embedded(), f, []Target{{Driver: "580.95.05", GPUs: []string{"L4"}}}, verdict.Policy{})
		if v.Outcome != want {
			t.Errorf("%s: %s, want %s", text, v.Outcome, want)
		}
	}
}
