package report

import (
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// details returns everything about a finding as plain lines, in the words of the screen, for formats with free text. It
// has no control byte, and every line begins with a word of this program.
func details(r Report, f verdict.Finding) string {
	p := &layout.Page{Style: layout.Style{All: true, Site: r.Tool.Site}}
	writeFinding(p, statement{Finding: f, subjects: layout.AppendUnique(nil, f.Subject), targets: layout.AppendUnique(nil, f.Target)}, false)
	_, text, _ := strings.Cut(strings.Trim(p.String(), "\n"), "\n") // the first line names rule and subject
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(lines[i], "    "), " ")
	}
	if over := expiredWaiver(r, f); over != "" {
		lines = append(lines, over)
	}
	return strings.Join(lines, "\n")
}

// lapsedFindings returns the number of findings that are back because a waiver has expired.
func lapsedFindings(r Report, w verdict.WaiverUse) int {
	n := 0
	for _, f := range r.Findings {
		if w.Expired && w.Covers(f) {
			n++
		}
	}
	return n
}

// expiredWaiver says that a finding was once waived, or returns "".
func expiredWaiver(r Report, f verdict.Finding) string {
	for _, w := range r.Waivers {
		if w.Expired && w.Covers(f) {
			return layout.Clean("waived until " + w.Until + ", which has passed: " + w.Reason)
		}
	}
	return ""
}

// summary returns a finding in one sentence, as in headlines.
func summary(f verdict.Finding) string {
	return layout.Clean(sentence(f)) + layout.Clean(layout.NameTargets(layout.AppendUnique(nil, f.Target)))
}

// Headline returns the outcome in one sentence: "incompatible: torch 2.9.0+cu130 cannot run on driver 535.183.01".
func Headline(r Report) string {
	p := &layout.Page{}
	writeHeadline(p, r, joinFindings(r.Findings, briefNotes(p.Style.All)))
	return strings.TrimSuffix(p.String(), "\n")
}

// waiver says why a finding is waived and until when.
func waiver(s verdict.Suppressed) string {
	text := "waived: " + s.Reason
	if s.Until != "" {
		text += ", until " + s.Until
	}
	return layout.Clean(text)
}
