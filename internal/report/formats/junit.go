package formats

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// The types are the part of JUnit's XML, which has no standard, that both Jenkins and GitLab read. No time is written,
// because a rule takes too little to measure.
type (
	// JUnitSuites is the document.
	JUnitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		JUnitCounts
		Suite JUnitSuite `xml:"testsuite"`
	}
	// JUnitCounts counts test cases by their result.
	JUnitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
	}
	// JUnitSuite is a run.
	JUnitSuite struct {
		JUnitCounts
		Properties []JUnitProperty `xml:"properties>property"`
		Cases      []JUnitCase     `xml:"testcase"`
	}
	// JUnitProperty is a value of a run.
	JUnitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	// JUnitCase is the result for one subject.
	JUnitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Skipped *JUnitMessage `xml:"skipped"`
		Error   *JUnitMessage `xml:"error"`
		Failure *JUnitMessage `xml:"failure"`
		Out     *JUnitText    `xml:"system-out"`
	}
	// JUnitMessage is the reason for a result.
	JUnitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		JUnitText
	}
	// JUnitText is free text.
	JUnitText struct {
		Text string `xml:",cdata"`
	}
)

// WriteJUnit writes a test case for each rule and subject. An error is a failure. A missing fact that decides is an
// error. Other missing facts, waived findings and rules that do not apply are skipped, so that a healthy machine's job
// stays green. A warning or note passes, with its text in the output. Rules that do not apply appear only with --all.
func WriteJUnit(w io.Writer, r report.Report, s layout.Style) error {
	r = r.ShortenLists()
	cases := junitCases(r, s.All)
	counts := CountCases(cases)
	suite := JUnitSuite{JUnitCounts: counts, Cases: cases, Properties: []JUnitProperty{
		{"outcome", string(r.Outcome)}, {"version", layout.Clean(r.Tool.Version)}, {"matrix", layout.Clean(r.Tool.Matrix)}}}
	if notes := r.Configuration.Notes(); len(notes) > 0 {
		suite.Properties = append(suite.Properties, JUnitProperty{"configuration", layout.Clean(strings.Join(notes, "; "))})
	}
	if more := r.DescribeLeftOut(); more != "" {
		suite.Properties = append(suite.Properties, JUnitProperty{"not listed", more})
	}
	text, err := xml.MarshalIndent(JUnitSuites{JUnitCounts: counts, Suite: suite}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// CountCases counts test cases by their result.
func CountCases(cases []JUnitCase) JUnitCounts {
	n := JUnitCounts{Name: "cudacompat", Tests: len(cases)}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			n.Failures++
		case c.Error != nil:
			n.Errors++
		case c.Skipped != nil:
			n.Skipped++
		}
	}
	return n
}

// junitCases returns the cases in the order of the rules.
func junitCases(r report.Report, all bool) []JUnitCase {
	cases := []JUnitCase{comparison(r)}
	for _, rule := range matrix.Rules() {
		own := casesOf(rule.ID, r)
		if why := idle(rule, r); len(own) == 0 && (all || why != doesNotArise) {
			own = append(own, newCase(rule.ID, rule.Title, ""))
			own[0].Skipped = &JUnitMessage{Message: why}
		}
		cases = append(cases, distinct(own)...)
	}
	return cases
}

// distinct numbers cases with equal names, because readers of JUnit's XML keep only one of them.
func distinct(cases []JUnitCase) []JUnitCase {
	seen := map[string]int{}
	for i, c := range cases {
		if seen[c.Name]++; seen[c.Name] > 1 {
			cases[i].Name += fmt.Sprintf(" (%d)", seen[c.Name])
		}
	}
	return cases
}

// comparison returns a case that fails if there was nothing to compare. No rule reports that, and it must not look like
// success.
func comparison(r report.Report) JUnitCase {
	c := newCase("outcome", "there is something to compare", "")
	if r.Outcome == verdict.Inconclusive && report.FindOpenFact(r) == nil {
		c.Error = &JUnitMessage{Message: layout.Clean(report.ExplainNothingCompared(r)), Type: "inconclusive"}
	}
	return c
}

// newCase returns a case that passes. Jenkins takes the part before the last dot as a package; GitLab shows all of it.
func newCase(rule, subject, target string) JUnitCase {
	return JUnitCase{Class: "cudacompat." + rule, Name: layout.Clean(subject + layout.NameTargets(layout.AppendUnique(nil, target)))}
}

// casesOf returns the cases of one rule.
func casesOf(rule string, r report.Report) []JUnitCase {
	var cases []JUnitCase
	for _, f := range r.Findings {
		if f.Rule == rule {
			cases = append(cases, foundCase(f, r))
		}
	}
	for _, s := range r.Suppressed {
		if s.Rule == rule {
			c := newCase(rule, s.Subject, s.Target)
			c.Skipped = &JUnitMessage{Message: plaintext.DescribeWaiver(s)}
			c.Out = &JUnitText{plaintext.FormatDetails(r, s.Finding)}
			cases = append(cases, c)
		}
	}
	for _, u := range r.Unknown {
		if u.Rule == rule {
			cases = append(cases, unknownCase(u, r))
		}
	}
	for _, p := range r.Passed {
		if p.Rule == rule {
			cases = append(cases, newCase(rule, p.Subject, p.Target))
		}
	}
	return cases
}

func foundCase(f verdict.Finding, r report.Report) JUnitCase {
	c := newCase(f.Rule, f.Subject, f.Target)
	text := plaintext.FormatDetails(r, f)
	if f.Severity == verdict.Error {
		c.Failure = &JUnitMessage{plaintext.SummarizeFinding(f), string(f.Severity), JUnitText{text}}
	} else {
		c.Out = &JUnitText{string(f.Severity) + ": " + text}
	}
	return c
}

func unknownCase(u verdict.Missing, r report.Report) JUnitCase {
	c := newCase(u.Rule, u.Subject, u.Target)
	missing := layout.Clean("not judged: " + report.DescribeMissing(u))
	if report.DecidesOutcome(r, u) {
		c.Error = &JUnitMessage{Message: missing, Type: "unknown"}
	} else {
		c.Skipped = &JUnitMessage{Message: missing}
	}
	return c
}

// doesNotArise says that a rule does not apply.
const doesNotArise = "does not apply here"

// idle says why a rule reports nothing: another rule found the cause, or the rule does not apply.
func idle(rule matrix.Rule, r report.Report) string {
	var causes []string
	silences := func(f verdict.Finding) {
		other, known := matrix.RuleNamed(f.Rule)
		if f.Severity == verdict.Error && known && rule.SilentAfter(other) && !slices.Contains(causes, f.Rule) {
			causes = append(causes, f.Rule)
		}
	}
	for _, f := range r.Findings {
		silences(f)
	}
	for _, s := range r.Suppressed {
		silences(s.Finding)
	}
	if len(causes) > 0 {
		return "not judged because of " + strings.Join(causes, ", ")
	}
	return doesNotArise
}
