package report

import (
	"strings"
	"testing"

	"cudacompat/matrix"
	"cudacompat/triage"
)

// TestCompared: what is said of the machine that a log is compared with.
func TestCompared(t *testing.T) {
	log := triage.Diagnosis{Blame: triage.Environment, Rule: "driver-too-old", Cause: "driver-too-old"}
	fires := []matrix.Finding{{Rule: "driver-too-old", Severity: matrix.Error, Subject: "torch"}}
	for _, c := range []struct {
		name string
		e    Explained
		want string
	}{
		{"has it", Explained{log, fires, &Compared{"this machine", matrix.Incompatible, "535.183.01"}},
			"Confirmed: this machine (driver 535.183.01) has driver-too-old, too."},
		{"has it not", Explained{log, nil, &Compared{"this machine", matrix.Compatible, "580.95.05"}},
			"Compared with this machine (driver 580.95.05): it does not have driver-too-old."},
		{"cannot tell", Explained{log, nil, &Compared{"this machine", matrix.Inconclusive, ""}},
			"Compared with this machine (no driver): too little is known of it"},
		{"no rule", Explained{triage.Diagnosis{Blame: triage.Program, Cause: "device-assert"}, nil,
			&Compared{"the facts in n.json", matrix.Compatible, "580.95.05"}}, "no rule covers this fault"},
	} {
		var b strings.Builder
		if err := explainedText(&b, c.e, Style{}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %v: %s\nwant %q", c.name, err, b.String(), c.want)
		}
		if strings.Contains(b.String(), "says whether this machine") {
			t.Errorf("%s: it was asked already: %s", c.name, b.String())
		}
	}
}
