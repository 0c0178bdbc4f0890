package guard

import (
	"testing"

	"cudacompat/matrix"
	"cudacompat/probe/facts"
)

func answer(subject string, a matrix.Answer) matrix.BuildAnswer {
	return matrix.BuildAnswer{Subject: subject, Answer: a, Counts: true}
}

func judged(outcome matrix.Outcome, gpus []string, answers []matrix.BuildAnswer, findings ...matrix.Finding) State {
	return State{Facts: facts.Facts{Plan: &facts.Plan{}}, Verdict: matrix.Verdict{Outcome: outcome, Answers: answers,
		Findings: findings, Judged: []matrix.Judged{{GPUs: gpus}}}}
}

var (
	l4     = []string{"L4 (8.9)"}
	works  = []matrix.BuildAnswer{answer("torch 2.6.0 in /opt/venv", matrix.Works)}
	tooOld = matrix.Finding{Rule: "driver-too-old", Severity: matrix.Error, Subject: "torch 2.13.0 in /opt/venv"}
	moves  = facts.Plan{Installs: []facts.Planned{{Name: "torch", Version: "2.13.0"}}}
)

func TestDecision(t *testing.T) {
	broken := []matrix.BuildAnswer{answer("torch 2.13.0 in /opt/venv", matrix.Broken)}
	was := []matrix.BuildAnswer{answer("torch 2.12.0 in /opt/venv", matrix.Broken)}
	unknown := []matrix.BuildAnswer{answer("torch 2.13.0 in /opt/venv", matrix.Unknown)}
	for name, c := range map[string]struct {
		before, after State
		plan          facts.Plan
		want          Decision
	}{
		"nothing changes": {judged(matrix.Compatible, l4, works), judged(matrix.Compatible, l4, works), facts.Plan{}, Fine},
		"breaks":          {judged(matrix.Compatible, l4, works), judged(matrix.Incompatible, l4, broken, tooOld), moves, Breaks},
		"broken before": {judged(matrix.Incompatible, l4, was, tooOld), judged(matrix.Incompatible, l4, broken, tooOld),
			moves, Fine},
		"unknown": {judged(matrix.Compatible, l4, works), judged(matrix.Inconclusive, l4, unknown), moves, Unclear},
		"no GPU is known and torch moves": {judged(matrix.Inconclusive, nil, nil), judged(matrix.Inconclusive, nil, nil),
			moves, Unclear},
		"no GPU is known and nothing moves": {judged(matrix.Inconclusive, nil, nil), judged(matrix.Inconclusive, nil, nil),
			facts.Plan{}, Fine},
		"no GPU is known and numpy moves": {judged(matrix.Inconclusive, nil, nil), judged(matrix.Inconclusive, nil, nil),
			facts.Plan{Installs: []facts.Planned{{Name: "numpy"}}}, Fine},
	} {
		if f := Compare(Command{}, "/opt/venv", c.plan, c.before, c.after); f.Decision != c.want {
			t.Errorf("%s: %s, want %s", name, f.Decision, c.want)
		}
	}
}

func TestFixes(t *testing.T) {
	f := Compare(Command{}, "/opt/venv", moves, judged(matrix.Incompatible, l4, nil, tooOld),
		judged(matrix.Compatible, l4, works))
	if len(f.Fixes) != 1 || len(f.Breaks) != 0 || f.Decision != Fine {
		t.Errorf("%+v", f)
	}
	unknown := []matrix.BuildAnswer{answer("torch 2.13.0 in /opt/venv", matrix.Unknown)}
	was := []matrix.BuildAnswer{answer("torch 2.12.0 in /opt/venv", matrix.Broken)}
	f = Compare(Command{}, "/opt/venv", moves, judged(matrix.Incompatible, l4, was, tooOld), judged(matrix.Inconclusive, l4, unknown))
	if len(f.Fixes) != 0 || f.Decision != Unclear {
		t.Errorf("what comes out nobody knows: %+v", f)
	}
}

func TestLearn(t *testing.T) {
	after := judged(matrix.Compatible, l4, works)
	after.Facts.Plan.Installs = []facts.Planned{{Name: "vllm"}}
	for is, want := range map[matrix.Answer]int{matrix.Works: 0, matrix.WorksMinorVersion: 0, matrix.Broken: 1} {
		f := Forecast{}
		f.Learn(matrix.Verdict{}, after, matrix.Verdict{Answers: []matrix.BuildAnswer{answer("torch 2.6.0+cu124 in /opt/venv", is),
			answer("vllm 0.19.1 in /opt/venv", matrix.Works)}})
		if len(f.Differs) != want {
			t.Errorf("torch is %s: %+v", is, f.Differs)
		}
	}
}

// TestLearnOfAFailure: a command that failed before it changed anything left nothing otherwise than it says; one that
// failed half-way did.
func TestLearnOfAFailure(t *testing.T) {
	foretold := judged(matrix.Compatible, l4, works)
	empty, broken := matrix.Verdict{}, judged(matrix.Incompatible, l4,
		[]matrix.BuildAnswer{answer("torch 2.6.0+cu124 in /opt/venv", matrix.Broken)})
	for _, c := range []struct {
		exit int
		is   matrix.Verdict
		want int
	}{{130, empty, 0}, {0, empty, 1}, {130, broken.Verdict, 1}} {
		f := Forecast{Exit: c.exit}
		if f.Learn(empty, foretold, c.is); len(f.Differs) != c.want {
			t.Errorf("exit %d, %v: %+v", c.exit, c.is.Answers, f.Differs)
		}
	}
}
