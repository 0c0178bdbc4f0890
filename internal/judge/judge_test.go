package judge

import (
	"context"
	"errors"
	"testing"

	"cudacompat/internal/deadline"
	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// noTool describes no program.
func noTool() report.Tool { return report.Tool{} }

// TestJudgingOver checks that nothing is compatible after judging was abandoned, even if nothing was read and a target
// is named.
func TestJudgingOver(t *testing.T) {
	j := Job{Tables: matrix.Embedded(), Targets: []matrix.Target{{Instance: "g5.xlarge", Driver: "580.95.05"}}, Tool: noTool}
	over, end := context.WithCancelCause(context.Background())
	if r := j.makeReport(over, probe.Facts{}); r.Outcome != verdict.Compatible {
		t.Fatalf("in time: %s", r.Outcome)
	}
	end(deadline.ErrUnjudged)
	r := j.makeReport(over, probe.Facts{})
	if r.Outcome != verdict.Inconclusive || len(r.Unknown) == 0 || r.Unknown[0].Missing != deadline.ErrUnjudged.Error() {
		t.Errorf("given up: %s, %+v", r.Outcome, r.Unknown)
	}
}

// TestNothingJudged checks that the report is inconclusive and says so if judging overruns.
func TestNothingJudged(t *testing.T) {
	up, end := context.WithCancelCause(t.Context())
	end(errors.New("the time was up"))
	r := Job{Tables: matrix.Embedded(), Tool: noTool}.makeReport(up, probe.Facts{})
	if r.Outcome != verdict.Inconclusive || len(r.Unknown) != 1 || r.Unknown[0].Missing != "the time was up" {
		t.Errorf("%s, %+v", r.Outcome, r.Unknown)
	}
}
