package formats

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// lineLimit is the room in bytes for a cause and a step: that of node-problem-detector (max_output_length), Docker's
// HEALTHCHECK, Slurm's Reason and systemd's status.
const lineLimit = 160

// WriteLine writes the verdict in one line of at most 160 bytes that begins with FAIL, OK or UNKNOWN: the cause, then
// the first step.
func WriteLine(w io.Writer, r report.Report, _ layout.Style) error {
	text, tail := lineText(r)
	for _, note := range r.Configuration.Notes() {
		tail += "; " + note
	}
	tail = layout.CutBytes(layout.Clean(tail), lineLimit/2)
	room := lineLimit - len(tail)
	step := ""
	if r.Outcome == verdict.Incompatible {
		step = firstStep(firstOf(r.Findings, verdict.Error), room*2/5)
	}
	_, err := fmt.Fprintln(w, layout.CutBytes(layout.Clean(text), room-len(step))+step+tail)
	return err
}

// WriteUsageLine writes such a line for a usage error.
func WriteUsageLine(w io.Writer, why string) error {
	_, err := fmt.Fprintln(w, layout.CutBytes("USAGE "+layout.Clean(why), lineLimit))
	return err
}

// WriteUnknownLine writes such a line if there is no result.
func WriteUnknownLine(w io.Writer, why string) error {
	_, err := fmt.Fprintln(w, layout.CutBytes("UNKNOWN "+layout.Clean(why), lineLimit))
	return err
}

// lineText returns the verdict, and the part that must stay if the line is cut.
func lineText(r report.Report) (text, tail string) {
	switch r.Outcome {
	case verdict.Incompatible:
		if n := r.Count(verdict.Error) - 1; n > 0 {
			tail = fmt.Sprintf(" (%s+%d more)", r.QualifyCount(), n)
		}
		return "FAIL " + failure(firstOf(r.Findings, verdict.Error)), tail
	case verdict.Inconclusive:
		return "UNKNOWN " + missing(r), ""
	}
	if len(r.Suppressed) > 0 { // what works is not what the waivers let through
		return "OK compatible", besides(r)
	}
	return "OK " + plaintext.DescribeWorking(r), besides(r)
}

// failure describes a finding in few words: its rule, its need and the fact.
func failure(f verdict.Finding) string {
	target := ""
	if f.Target != "" {
		target = f.Target + ": "
	}
	if e := report.FindNeededFact(f); e != nil && e.Fact != f.Subject {
		return fmt.Sprintf("%s: %s%s; this is %s (%s)", f.Rule, target, f.Need, e.Value, report.NameSubject(f))
	}
	return fmt.Sprintf("%s: %s%s", f.Rule, target, report.FormatSentence(f))
}

// firstStep returns the pin that changes least, otherwise the first step, in at most room bytes. It may cut words, but
// never a command; if the command is longer, it names the cudacompat command that prints it.
func firstStep(f verdict.Finding, room int) string {
	const fix = "; fix: "
	switch {
	case len(f.Pins) > 0:
		return layout.CutBytes(layout.Clean(fix+f.Pins[0].Package+" "+f.Pins[0].Version), room)
	case len(f.Steps) == 0:
		return ""
	case f.Steps[0].Run == "":
		step := layout.CutBytes(layout.Clean(fix+f.Steps[0].Say), room)
		if strings.Count(step, "`")%2 == 1 { // it would end in the middle of a command
			words, _, _ := strings.Cut(strings.TrimPrefix(step[:strings.LastIndex(step, "`")], fix), "`")
			if words = strings.TrimRight(words, " (:;,"); strings.Count(words, " ") < 3 {
				return fix + "cudacompat doctor"
			}
			return fix + words
		}
		return step
	case len(layout.Clean(fix+f.Steps[0].Run)) > room:
		return fix + "cudacompat doctor"
	}
	return layout.Clean(fix + f.Steps[0].Run)
}

// missing returns the fact that is needed for an answer.
func missing(r report.Report) string {
	if u := report.FindOpenFact(r); u != nil {
		return fmt.Sprintf("%s: %s: %s", u.Rule, cmp.Or(u.Of, u.Subject), report.DescribeMissing(*u))
	}
	return report.ExplainNothingCompared(r)
}

// besides returns what a compatible verdict must not hide.
func besides(r report.Report) string {
	text := ""
	if n := r.Count(verdict.Warning); n > 0 {
		text += ", " + layout.CountNoun(n, "warning") + ": " + firstOf(r.Findings, verdict.Warning).Rule
	}
	if n := len(r.Suppressed); n > 0 {
		text += fmt.Sprintf(", %d waived", n)
	}
	return text
}

// firstOf returns the first finding with a severity, or the zero Finding.
func firstOf(findings []verdict.Finding, s verdict.Severity) verdict.Finding {
	for _, f := range findings {
		if f.Severity == s {
			return f
		}
	}
	return verdict.Finding{}
}
