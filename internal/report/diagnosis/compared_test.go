package diagnosis

import (
	"strings"
	"testing"

	"cudacompat/internal/logs"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// TestCompared checks the sentence about the machine that a log is compared with.
func TestCompared(t *testing.T) {
	log := logs.Diagnosis{Blame: logs.Environment, Rule: "driver-too-old", Cause: "driver-too-old"}
	fires := []verdict.Finding{{Rule: "driver-too-old", Severity: verdict.Error, Subject: "torch"}}
	code := logs.Diagnosis{Blame: logs.Program, Cause: "device-assert"}
	unclear := logs.Diagnosis{Blame: logs.Unknown, Cause: "process-crashed"}
	with := func(result Result, why string) *Compared {
		return &Compared{With: "this machine", Why: why, Driver: "535.183.01", Result: result}
	}
	for _, c := range []struct {
		name string
		e    Explained
		want string
	}{
		{"has it", Explained{Diagnosis: log, Findings: fires, Apart: nil, Compared: with(ResultConfirmed, "")},
			"Confirmed: this machine (driver 535.183.01) has driver-too-old, too."},
		{"explains it", Explained{Diagnosis: log, Findings: fires, Apart: nil, Compared: with(ResultExplains, "")}, "it has a fault that can bring this log's error about."},
		{"has another", Explained{Diagnosis: code, Findings: nil, Apart: fires, Compared: with(ResultApart, "")}, "it has a fault that does not bring this log's error about."},
		{"may be it", Explained{Diagnosis: unclear, Findings: nil, Apart: fires, Compared: with(ResultApart, "")}, "the log does not tell whether that is its error's cause."},
		{"has it not", Explained{Diagnosis: log, Findings: nil, Apart: nil, Compared: with(ResultFixed, "")},
			"Compared with this machine (driver 535.183.01): it is compatible and does not have driver-too-old."},
		{"its own description has it not", Explained{Diagnosis: log, Compared: &Compared{With: "the environment that the log describes", Driver: "535.183.01", Result: ResultFixed, Own: true}},
			"Compared with the environment that the log describes (driver 535.183.01): it does not have driver-too-old."},
		{"cannot tell", Explained{Diagnosis: log, Findings: nil, Apart: nil, Compared: &Compared{With: "this machine", Result: ResultUnknown}},
			"Compared with this machine (no driver): too little is known of it"},
		{"no rule", Explained{Diagnosis: code, Findings: nil, Apart: nil, Compared: with(ResultNothing, "")}, "it is compatible, and nothing on it is about this log's error."},
		{"unasked", Explained{Diagnosis: log, Findings: fires, Apart: nil, Compared: with(ResultConfirmed, "the log names its driver, 535.183.01")},
			"It was looked at because the log names its driver, 535.183.01; --no-here judges only the log."},
	} {
		var b strings.Builder
		if err := explainedText(&b, c.e, layout.Style{}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %v: %s\nwant %q", c.name, err, b.String(), c.want)
		}
		if strings.Contains(b.String(), "fixed since") != (c.e.Compared.Result == ResultFixed && !c.e.Compared.Own) {
			t.Errorf("%s: only of a machine that is compatible and known: %s", c.name, b.String())
		}
		if strings.Contains(b.String(), "says whether this machine") {
			t.Errorf("%s: it was asked already: %s", c.name, b.String())
		}
	}
}
