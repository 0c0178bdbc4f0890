package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// TestPastedReports judges collect_env reports as people pasted them, with PyTorch's warnings, both as in the thread
// and as quoted in a mail. The rule that the thread's answer points to must fire. Without such an answer, no report may
// be incompatible.
func TestPastedReports(t *testing.T) {
	f, err := os.Open("testdata/public/pasted.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var c struct{ ID, Rule, Report string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{c.Report, "> " +
			strings.ReplaceAll(strings.TrimSuffix(c.Report, "\n"), "\n", "\r\n> ") + "\r\n"} {
			node, err := probe.Given([]byte(text))
			if err != nil {
				t.Fatal(c.ID, err)
			}
			v := Check(context.Background(), Embedded(), node, nil, verdict.Policy{})
			hit := slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return f.Rule == c.Rule && f.Severity != verdict.Note })
			if c.Rule != "" && !hit || c.Rule == "" && v.Outcome == verdict.Incompatible {
				t.Errorf("%s: want %q:\n%s", c.ID, c.Rule, summary(v, everyRule))
			}
		}
	}
	if err := lines.Err(); err != nil || n == 0 {
		t.Fatalf("%d reports: %v", n, err)
	}
}
