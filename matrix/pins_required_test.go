package matrix

import (
	"context"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"golang.org/x/tools/txtar"
)

// TestRequiredWheelsComeTogether puts torch 2.10.0 beside the wheels of torch 2.6.0 and wants one command that corrects
// all of them. For a single changed cuDNN it wants only the cuDNN.
func TestRequiredWheelsComeTogether(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/cudnn-mismatch/fires-no-deps-upgrade.txtar")
	if err != nil {
		t.Fatal(err)
	}
	whole := `/opt/venv/bin/python -m pip install torch==2.10.0 torchvision==0.25.0 torchaudio==2.10.0`
	v := judge(t, archive, false)
	for _, f := range v.Findings {
		if got := firstPip(f); f.Severity == verdict.Error && got != whole {
			t.Errorf("%s of %s: %s, want %s", f.Rule, f.Subject, got, whole)
		}
	}

	node, err := probe.Given(factsOf(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	env := &node.Environments[0]
	env.Builds[0].Missing, env.Builds[0].Unresolved = nil, nil
	for i, p := range env.Packages {
		if release := env.Builds[0].Requires[p.Name]; release != "" && p.Name != "nvidia-cudnn-cu12" {
			env.Packages[i].Version = release
		}
	}
	v = Check(context.Background(), Embedded(), node, nil, verdict.Policy{})
	if got := firstPip(v.Findings[0]); v.Findings[0].Rule != "cudnn-mismatch" || !strings.HasSuffix(got,
		`--no-deps nvidia-cudnn-cu12==9.10.2.21`) {
		t.Errorf("only cuDNN is of another release: %s %s", v.Findings[0].Rule, got)
	}
}

// firstPip returns the first pip command of a finding, or "" if it has no pin.
func firstPip(f verdict.Finding) string {
	if len(f.Pins) == 0 {
		return ""
	}
	return f.Pins[0].Commands["pip"]
}
