package rules

import (
	"fmt"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// Stated returns the error that a pasted text shows, as a finding of the rule that knows its cause. It returns nil if
// the text shows none, or if the machine to judge is another one than the text's.
func Stated(m *model.Machine) *rule.Result {
	stated := m.Facts.Observed.Stated
	if stated == nil || m.Target.OtherThan(m.Tables, m.Facts) {
		return nil
	}
	if _, known := Named(stated.Rule); !known {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: verdict.StatedSubject, Message: strings.TrimSuffix(stated.Cause, "."),
		Evidence: []verdict.Evidence{{Fact: "error", Value: stated.Text, From: fmt.Sprintf("line %d", stated.Line)}}}
	for i, do := range stated.Do {
		step := pin.Say(strings.TrimPrefix(do, "or "))
		if i > 0 { // which of them applies the text does not say
			step = step.Instead()
		}
		f.Steps = append(f.Steps, step)
	}
	return &rule.Result{Subject: f.Subject, Finding: &f, Judged: true}
}
