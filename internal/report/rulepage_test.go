package report_test

import (
	"bytes"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestRulePage checks that every format with room for it has the address of a finding's rule if the build has a site,
// and no address otherwise.
func TestRulePage(t *testing.T) {
	v := verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{{Rule: "driver-too-old", Severity: verdict.Error,
		Subject: "torch 2.9.0+cu130", Message: "the driver is too old", Need: "driver >= 580.65.06"}}}
	for name, write := range map[string]func(*bytes.Buffer, report.Report) error{
		"text":     func(b *bytes.Buffer, r report.Report) error { return plaintext.Write(b, r, layout.Style{}) },
		"markdown": func(b *bytes.Buffer, r report.Report) error { return formats.WriteMarkdown(b, r, layout.Style{}) },
		"sarif":    func(b *bytes.Buffer, r report.Report) error { return formats.WriteSARIF(b, r, layout.Style{}) },
		"github":   func(b *bytes.Buffer, r report.Report) error { return formats.WriteGitHub(b, r, layout.Style{}) },
		"junit":    func(b *bytes.Buffer, r report.Report) error { return formats.WriteJUnit(b, r, layout.Style{}) },
		"json":     func(b *bytes.Buffer, r report.Report) error { return report.WriteJSON(b, r) },
	} {
		for _, site := range []string{"", "https://cudacompat.example/"} {
			var b bytes.Buffer
			v.Link(site) // as matrix.Check does by its policy
			if err := write(&b, report.New(report.Tool{Matrix: "2026-11-21", Site: site}, facts.Facts{}, nil, v)); err != nil {
				t.Fatal(err)
			}
			want := "https://cudacompat.example/rule/driver-too-old/"
			if name == "json" {
				want = `"url": "` + want + `"`
			}
			if has := strings.Contains(b.String(), want); has != (site != "") {
				t.Errorf("%s with the site %q: the address is there: %v\n%s", name, site, has, b.String())
			}
			inRepository := name == "junit" || name == "github" || name == "markdown" || name == "sarif"
			if has := strings.Contains(b.String(), "docs/rules/driver-too-old.md"); has != (inRepository && site == "") {
				t.Errorf("%s with the site %q: the path in the repository is there: %v\n%s", name, site, has, b.String())
			}
		}
	}
}
