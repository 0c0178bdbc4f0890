package plaintext

import (
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// FormatDetails returns everything about a finding as plain lines, in the words of the screen, for formats with free
// text. It has no control byte, and every line begins with a word of this program.
func FormatDetails(r report.Report, f verdict.Finding) string {
	p := &layout.Page{Style: layout.Style{All: true, Site: r.Tool.Site}}
	WriteFinding(p, report.Statement{Finding: f, Subjects: layout.AppendUnique(nil, f.Subject), Targets: layout.AppendUnique(nil, f.Target)}, false)
	_, text, _ := strings.Cut(strings.Trim(p.String(), "\n"), "\n") // the first line names rule and subject
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(lines[i], "    "), " ")
	}
	if over := DescribeExpiredWaiver(r, f); over != "" {
		lines = append(lines, over)
	}
	return strings.Join(lines, "\n")
}

// CountLapsed returns the number of findings that are back because a waiver has expired.
func CountLapsed(r report.Report, w verdict.WaiverUse) int {
	n := 0
	for _, f := range r.Findings {
		if w.Expired && w.Covers(f) {
			n++
		}
	}
	return n
}

// DescribeExpiredWaiver says that a finding was once waived, or returns "".
func DescribeExpiredWaiver(r report.Report, f verdict.Finding) string {
	for _, w := range r.Waivers {
		if w.Expired && w.Covers(f) {
			return layout.Clean("waived until " + w.Until + ", which has passed: " + w.Reason)
		}
	}
	return ""
}

// SummarizeFinding returns a finding in one sentence, as in headlines.
func SummarizeFinding(f verdict.Finding) string {
	return layout.Clean(report.FormatSentence(f)) + layout.Clean(layout.NameTargets(layout.AppendUnique(nil, f.Target)))
}

// FormatHeadline returns the outcome in one sentence: "incompatible: torch 2.9.0+cu130 cannot run on driver
// 535.183.01".
func FormatHeadline(r report.Report) string {
	p := &layout.Page{}
	writeHeadline(p, r, report.JoinFindings(r.Findings, briefNotes(p.Style.All)))
	return strings.TrimSuffix(p.String(), "\n")
}

// DescribeWaiver says why a finding is waived and until when.
func DescribeWaiver(s verdict.Suppressed) string {
	text := "waived: " + s.Reason
	if s.Until != "" {
		text += ", until " + s.Until
	}
	return layout.Clean(text)
}
