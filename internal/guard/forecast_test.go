package guard

import (
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

func answer(subject string, a verdict.Answer) verdict.BuildAnswer {
	return verdict.BuildAnswer{Subject: subject, Answer: a, Counts: true}
}

func judged(outcome verdict.Outcome, gpus []string, answers []verdict.BuildAnswer, findings ...verdict.Finding) State {
	return State{Facts: facts.Facts{Plan: &facts.Plan{}}, Verdict: verdict.Verdict{Outcome: outcome, Answers: answers,
		Findings: findings, Judged: []verdict.Judged{{GPUs: gpus}}}}
}

var (
	l4     = []string{"L4 (8.9)"}
	works  = []verdict.BuildAnswer{answer("torch 2.6.0 in /opt/venv", verdict.Works)}
	tooOld = verdict.Finding{Rule: "driver-too-old", Severity: verdict.Error, Subject: "torch 2.13.0 in /opt/venv"}
	moves  = facts.Plan{Installs: []facts.Planned{{Name: "torch", Version: "2.13.0"}}}
)

func TestDecision(t *testing.T) {
	broken := []verdict.BuildAnswer{answer("torch 2.13.0 in /opt/venv", verdict.Broken)}
	was := []verdict.BuildAnswer{answer("torch 2.12.0 in /opt/venv", verdict.Broken)}
	unknown := []verdict.BuildAnswer{answer("torch 2.13.0 in /opt/venv", verdict.Unknown)}
	for name, c := range map[string]struct {
		before, after State
		plan          facts.Plan
		want          Decision
	}{
		"nothing changes": {judged(verdict.Compatible, l4, works), judged(verdict.Compatible, l4, works), facts.Plan{}, Fine},
		"breaks":          {judged(verdict.Compatible, l4, works), judged(verdict.Incompatible, l4, broken, tooOld), moves, Breaks},
		"broken before": {judged(verdict.Incompatible, l4, was, tooOld), judged(verdict.Incompatible, l4, broken, tooOld),
			moves, Fine},
		"unknown": {judged(verdict.Compatible, l4, works), judged(verdict.Inconclusive, l4, unknown), moves, Unclear},
		"no GPU is known and torch moves": {judged(verdict.Inconclusive, nil, nil), judged(verdict.Inconclusive, nil, nil),
			moves, Unclear},
		"no GPU is known and nothing moves": {judged(verdict.Inconclusive, nil, nil), judged(verdict.Inconclusive, nil, nil),
			facts.Plan{}, Fine},
		"no GPU is known and numpy moves": {judged(verdict.Inconclusive, nil, nil), judged(verdict.Inconclusive, nil, nil),
			facts.Plan{Installs: []facts.Planned{{Name: "numpy"}}}, Fine},
	} {
		if f := Compare(Command{}, "/opt/venv", c.plan, c.before, c.after); f.Decision != c.want {
			t.Errorf("%s: %s, want %s", name, f.Decision, c.want)
		}
	}
}

func TestFixes(t *testing.T) {
	f := Compare(Command{}, "/opt/venv", moves, judged(verdict.Incompatible, l4, nil, tooOld),
		judged(verdict.Compatible, l4, works))
	if len(f.Fixes) != 1 || len(f.Breaks) != 0 || f.Decision != Fine {
		t.Errorf("%+v", f)
	}
	unknown := []verdict.BuildAnswer{answer("torch 2.13.0 in /opt/venv", verdict.Unknown)}
	was := []verdict.BuildAnswer{answer("torch 2.12.0 in /opt/venv", verdict.Broken)}
	f = Compare(Command{}, "/opt/venv", moves, judged(verdict.Incompatible, l4, was, tooOld), judged(verdict.Inconclusive, l4, unknown))
	if len(f.Fixes) != 0 || f.Decision != Unclear {
		t.Errorf("what comes out nobody knows: %+v", f)
	}
}

func TestLearn(t *testing.T) {
	after := judged(verdict.Compatible, l4, works)
	after.Facts.Plan.Installs = []facts.Planned{{Name: "vllm"}}
	for is, want := range map[verdict.Answer]int{verdict.Works: 0, verdict.WorksMinorVersion: 0, verdict.Broken: 1} {
		f := Forecast{}
		f.Learn(verdict.Verdict{}, after, verdict.Verdict{Answers: []verdict.BuildAnswer{answer("torch 2.6.0+cu124 in /opt/venv", is),
			answer("vllm 0.19.1 in /opt/venv", verdict.Works)}})
		if len(f.Differs) != want {
			t.Errorf("torch is %s: %+v", is, f.Differs)
		}
	}
}

// TestLearnOfAFailure checks that a command which failed before changing anything leaves no difference, and one which
// failed half-way does.
func TestLearnOfAFailure(t *testing.T) {
	foretold := judged(verdict.Compatible, l4, works)
	empty, broken := verdict.Verdict{}, judged(verdict.Incompatible, l4,
		[]verdict.BuildAnswer{answer("torch 2.6.0+cu124 in /opt/venv", verdict.Broken)})
	for _, c := range []struct {
		exit int
		is   verdict.Verdict
		want int
	}{{130, empty, 0}, {0, empty, 1}, {130, broken.Verdict, 1}} {
		f := Forecast{Exit: c.exit}
		if f.Learn(empty, foretold, c.is); len(f.Differs) != c.want {
			t.Errorf("exit %d, %v: %+v", c.exit, c.is.Answers, f.Differs)
		}
	}
}
