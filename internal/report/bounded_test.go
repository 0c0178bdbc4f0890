package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cudacompat/internal/budget"
	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// many returns a report with n findings, and n of everything else that grows with the input.
func many(n int) report.Report {
	v := verdict.Verdict{Outcome: verdict.Incompatible}
	for i := range n {
		subject := fmt.Sprintf("torch 2.9.%d in /e%d", i, i)
		v.Findings = append(v.Findings, verdict.Finding{Rule: "driver-too-old", Severity: verdict.Error, Subject: subject,
			Message: fmt.Sprintf("CUDA 13.0 needs driver >= 580.65.%d", i), Do: []string{"install it"},
			Steps: []pin.Step{pin.Say("install it")}})
		v.Answers = append(v.Answers, verdict.BuildAnswer{Subject: subject, Answer: verdict.Broken, Counts: true})
		v.Passed = append(v.Passed, verdict.Passed{Rule: "not-importable", Subject: subject})
		v.Unknown = append(v.Unknown, verdict.Missing{Rule: "glibc-too-old", Subject: subject, MissingFact: requires.Value("the C library")})
	}
	v.Judged = []verdict.Judged{{}}
	return report.New(report.Tool{}, facts.Facts{}, nil, v)
}

// TestListsEnd checks that the formats for programs have 500 entries of a list and count the others, that a page has
// 100, and that the first and last line count all.
func TestListsEnd(t *testing.T) {
	for n, want := range map[int]string{500: "{}", 1900: `{"findings":1400,"passed":1400,"unknown":1400}`} {
		var out bytes.Buffer
		if err := report.JSON(&out, many(n), layout.Style{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Findings, Passed, Unknown, Answers []any
			More                               map[string]int
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.More == nil {
			got.More = map[string]int{}
		}
		more, _ := json.Marshal(got.More)
		if string(more) != want || len(got.Findings) != 500 || len(got.Passed) != 500 || len(got.Answers) != n {
			t.Errorf("of %d: %d findings, %d passed, %d answers, more %s", n, len(got.Findings), len(got.Passed),
				len(got.Answers), more)
		}
	}
	for name, want := range map[string][]string{
		"text":   {"and 1899 more errors", "and 1800 more findings: -o json lists them", "1900 errors, 0 warnings"},
		"junit":  {`name="not listed" value="1400 more findings, 1400 more passed, 1400 more unknown"`},
		"sarif":  {"not listed: 1400 more findings"},
		"script": {"# 100. error driver-too-old", "# Left out: 1800 more findings. When these are fixed"},
		"github": {"not listed: 1400 more findings"},
	} {
		var out bytes.Buffer
		for _, f := range formats.All {
			if f.Name == name {
				if err := f.Write(&out, many(1900), layout.Style{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, text := range append(want, "/e0") {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s lacks %q:\n%.600s", name, text, out.String())
			}
		}
		if strings.Count(out.String(), "torch 2.9.1899") > 0 {
			t.Errorf("%s has the last of 1900", name)
		}
	}
}

// TestCutForTime checks that a shortened report says so, and gives its counts as minimums.
func TestCutForTime(t *testing.T) {
	r, left := budget.Short(many(1900))
	r.Leave(left)
	for format, want := range map[string][]string{
		"text": {"(and at least 99 more errors)", "! left out: 1800 more answers, 1800 more findings", "at least 100 errors, 0 warnings"},
		"line": {"(at least +99 more)"}, "script": {"# Left out: 1800 more findings."}, "json": {`"findings": 1800`},
	} {
		var out bytes.Buffer
		for _, f := range formats.All {
			if f.Name == format {
				if err := f.Write(&out, r, layout.Style{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s lacks %q: %.500s", format, text, out.String())
			}
		}
	}
}
