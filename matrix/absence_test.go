package matrix

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"golang.org/x/tools/txtar"
)

// absenceProven lists the cases whose error follows from something that was counted or read, and not from something
// that was not found.
var absenceProven = []string{"gpu-count/fires-pod-none", "gpu-count/fires-uuid-none", "gpu-count/fires-step-none", "gpu-count/fires-job-required"}

// TestNotSeenIsNotMissing checks that a rule which reports an absence stays silent if the probe could not look
// everywhere. The outcome is then never compatible.
func TestNotSeenIsNotMissing(t *testing.T) {
	for _, rule := range rules.All {
		files, _ := filepath.Glob("testdata/" + rule.ID + "/fires*.txtar")
		for _, file := range files {
			name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar")
			if slices.Contains(absenceProven, name) {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, by := range rule.Absence {
				v := judgeFacts(t, txtar.Parse(data), true, func(f *probe.Facts) {
					f.Unread = append(f.Unread, facts.Unread{Place: "/some/place", Reason: "input/output error", Kind: facts.UnreadNeeded, Probe: by})
				})
				for _, f := range v.Findings {
					if f.Rule == rule.ID && f.Severity != verdict.Note {
						t.Errorf("%s, %s could not see a place: %s %s: %s", name, by, f.Severity, f.Rule, f.Message)
					}
				}
				if v.Outcome == verdict.Compatible {
					t.Errorf("%s, %s could not see a place: compatible", name, by)
				}
			}
		}
	}
}
