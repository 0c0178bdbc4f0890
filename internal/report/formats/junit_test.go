package formats

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

// junitForm lists what the readers of Jenkins and GitLab know: each element's parents and attributes.
var junitForm = map[string]struct{ parents, attributes []string }{
	"testsuites": {[]string{""}, []string{"name", "tests", "failures", "errors", "skipped"}},
	"testsuite":  {[]string{"testsuites"}, []string{"name", "tests", "failures", "errors", "skipped"}},
	"properties": {[]string{"testsuite"}, nil},
	"property":   {[]string{"properties"}, []string{"name", "value"}},
	"testcase":   {[]string{"testsuite"}, []string{"classname", "name"}},
	"skipped":    {[]string{"testcase"}, []string{"message"}},
	"error":      {[]string{"testcase"}, []string{"message", "type"}},
	"failure":    {[]string{"testcase"}, []string{"message", "type"}},
	"system-out": {[]string{"testcase"}, nil},
}

// TestJUnitIsRead parses every case's document strictly and compares its counts with the verdict.
func TestJUnitIsRead(t *testing.T) {
	for name, r := range reporttest.Cases(t, "../testdata") {
		t.Run(name, func(t *testing.T) {
			text := reporttest.Show(t, All, r, "junit", layout.Style{})
			walkJUnit(t, text)
			var back JUnitSuites
			if err := xml.Unmarshal([]byte(text), &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantedCounts(r, back.Suite.Cases), back.Suite.JUnitCounts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(back.JUnitCounts, back.Suite.JUnitCounts); diff != "" {
				t.Errorf("the suites and the only suite differ:\n%s", diff)
			}
		})
	}
}

// wantedCounts computes the counts from the verdict. Only the number of skipped cases that do not apply comes from the
// document.
func wantedCounts(r report.Report, read []JUnitCase) JUnitCounts {
	idle := 0
	for _, c := range read {
		if c.Skipped != nil && !strings.HasPrefix(c.Skipped.Message, "waived: ") &&
			!strings.HasPrefix(c.Skipped.Message, "not judged: ") {
			idle++
		}
	}
	open := 0
	for _, u := range r.Unknown {
		if report.DecidesOutcome(r, u) {
			open++
		}
	}
	want := JUnitCounts{Name: "cudacompat", Failures: r.Count(verdict.Error), Errors: open,
		Skipped: idle + len(r.Suppressed) + len(r.Unknown) - open}
	want.Tests = 1 + len(r.Findings) + len(r.Suppressed) + len(r.Unknown) + len(r.Passed) + idle
	if r.Outcome == verdict.Inconclusive && report.FindOpenFact(r) == nil {
		want.Errors++
	}
	return want
}

func walkJUnit(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	open := []string{""}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			form, known := junitForm[token.Name.Local]
			if !known || !slices.Contains(form.parents, open[len(open)-1]) {
				t.Errorf("<%s> in <%s>", token.Name.Local, open[len(open)-1])
			}
			for _, a := range token.Attr {
				if !slices.Contains(form.attributes, a.Name.Local) {
					t.Errorf("<%s> has an attribute %s", token.Name.Local, a.Name.Local)
				}
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// TestJUnitIsGreenOnASoundMachine checks that a job that reads the file does not fail if the exit code is 0.
func TestJUnitIsGreenOnASoundMachine(t *testing.T) {
	unknown := 0
	for name, r := range reporttest.Cases(t, "../testdata") {
		if r.Outcome != verdict.Compatible {
			continue
		}
		unknown += len(r.Unknown)
		if n := CountCases(junitCases(r, false)); n.Failures+n.Errors > 0 {
			t.Errorf("%s is compatible, and has %d failures and %d errors", name, n.Failures, n.Errors)
		}
	}
	if unknown == 0 {
		t.Error("no compatible case has anything unknown: this proves nothing")
	}
}

// TestJUnitCannotBeBrokenOut puts text that ends CDATA and attributes into every string.
func TestJUnitCannotBeBrokenOut(t *testing.T) {
	const hostile = `]]></system-out><failure message="x"/> "'<&>`
	text := reporttest.Show(t, All, reporttest.Fill(hostile, verdict.Compatible), "junit", layout.Style{All: true})
	walkJUnit(t, text)
	var back JUnitSuites
	if err := xml.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(back.Suite.Cases,
		func(c JUnitCase) bool { return c.Skipped != nil && c.Skipped.Message == "does not apply here" })
	if back.Suite.Failures != 0 || !found {
		t.Errorf("%d failures, idle rules found: %v", back.Suite.Failures, found)
	}
}

// TestEveryRuleIsAJUnitCase checks that --all has every rule, and that without it no rule that does not apply has a
// case.
func TestEveryRuleIsAJUnitCase(t *testing.T) {
	for name, r := range reporttest.Cases(t, "../testdata") {
		written := junitCases(r, true)
		for _, rule := range matrix.Rules() {
			if !slices.ContainsFunc(written, func(c JUnitCase) bool { return c.Class == "cudacompat."+rule.ID }) {
				t.Errorf("%s: no test case of %s", name, rule.ID)
			}
		}
		if slices.ContainsFunc(junitCases(r, false), func(c JUnitCase) bool { return c.Skipped != nil && c.Skipped.Message == doesNotArise }) {
			t.Errorf("%s: a rule that does not apply has a case", name)
		}
	}
}
