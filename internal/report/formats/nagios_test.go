package formats

import (
	"regexp"
	"strings"
	"testing"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/verdict"
)

// nagiosForm matches a plugin's first line by the monitoring plugins' guidelines: state, text, performance data.
var nagiosForm = regexp.MustCompile(`^CUDACOMPAT (OK|WARNING|CRITICAL|UNKNOWN) - ([^|]+) \| (.+)$`)

var perfdatum = regexp.MustCompile(`^[a-z]+=\d+(;\d*){0,2}$`)

// TestNagiosIsRead checks the form of every case, and of one with hostile strings: one line with one bar, valid data,
// nothing beyond the readers' buffer.
func TestNagiosIsRead(t *testing.T) {
	all := reporttest.Cases(t, "../testdata")
	all["hostile-strings"] = reporttest.Fill("a|b\n|c=1;2;3", verdict.Incompatible)
	all["huge"] = reporttest.Fill(strings.Repeat("x|", 3000), verdict.Incompatible)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			text := reporttest.Show(t, All, r, "nagios", layout.Style{})
			first, rest, _ := strings.Cut(text, "\n")
			m := nagiosForm.FindStringSubmatch(first)
			if m == nil || strings.Contains(rest, "|") || len(text) > nagiosLimit {
				t.Fatalf("%d bytes: %q", len(text), text)
			}
			if m[1] != FindNagiosState(r.Verdict).String() {
				t.Errorf("it says %s, and exits with %d", m[1], FindNagiosState(r.Verdict))
			}
			for _, datum := range strings.Fields(m[3]) {
				if !perfdatum.MatchString(datum) {
					t.Errorf("performance data %q", datum)
				}
			}
		})
	}
}

// TestNagiosStates checks the protocol's table.
func TestNagiosStates(t *testing.T) {
	warned := []verdict.Finding{{Severity: verdict.Warning}}
	for _, tt := range []struct {
		name    string
		verdict verdict.Verdict
		want    NagiosState
		word    string
		code    int
	}{
		{"fine", verdict.Verdict{Outcome: verdict.Compatible}, NagiosOK, "OK", 0},
		{"noted", verdict.Verdict{Outcome: verdict.Compatible, Findings: []verdict.Finding{{Severity: verdict.Note}}}, NagiosOK,
			"OK", 0},
		{"warned", verdict.Verdict{Outcome: verdict.Compatible, Findings: warned}, NagiosWarning, "WARNING", 1},
		{"broken", verdict.Verdict{Outcome: verdict.Incompatible, Findings: warned}, NagiosCritical, "CRITICAL", 2},
		{"open", verdict.Verdict{Outcome: verdict.Inconclusive, Findings: warned}, NagiosUnknown, "UNKNOWN", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FindNagiosState(tt.verdict); got != tt.want || got.String() != tt.word || int(got) != tt.code {
				t.Errorf("%s, exit code %d", got, got)
			}
		})
	}
}
