package plaintext

import (
	"testing"

	"cudacompat/internal/report"
	"cudacompat/matrix/verdict"
)

// TestFits checks that a package fits if one of the two rules compared it and found nothing, and that no other
// package's result counts.
func TestFits(t *testing.T) {
	const subject, other = "torchvision 0.24.0", "xformers 0.0.33"
	passed := func(rule, of string) report.Report {
		return report.Report{Verdict: verdict.Verdict{Passed: []verdict.Passed{{Rule: rule, Subject: of}}}}
	}
	both := passed("companion-mismatch", subject)
	both.Findings = []verdict.Finding{{Rule: "extension-mismatch", Subject: subject}}
	unknown := passed("companion-mismatch", subject)
	unknown.Unknown = []verdict.Missing{{Rule: "driver-too-old", Subject: subject}}
	beside := passed("extension-mismatch", subject)
	beside.Findings = []verdict.Finding{{Rule: "extension-mismatch", Subject: other}, {Rule: "driver-too-old", Subject: subject}}
	beside.Unknown = []verdict.Missing{{Rule: "extension-mismatch", Subject: other}}
	for name, c := range map[string]struct {
		r    report.Report
		want bool
	}{
		"companion": {passed("companion-mismatch", subject), true}, "extension": {passed("extension-mismatch", subject), true},
		"another rule": {passed("driver-too-old", subject), false}, "another package": {passed("companion-mismatch", other), false},
		"nothing": {report.Report{}, false}, "a target on which it does not": {both, false}, "not known": {unknown, false},
		"others": {beside, true},
	} {
		if got := subjects(c.r).fits[subject]; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
