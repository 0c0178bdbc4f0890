package plaintext

import (
	"fmt"
	"slices"

	"cudacompat/internal/logs"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// NameBlame names a side in the words of the screen.
func NameBlame(b logs.Blame) string {
	if b == logs.None {
		return "nothing wrong"
	}
	return string(b)
}

// DescribeBlame returns the beginning of an answer. It says "likely" for a line that several causes print.
func DescribeBlame(d logs.Diagnosis) string {
	switch {
	case d.Blame == logs.None || d.Blame == logs.Unknown:
		return NameBlame(d.Blame)
	case d.Confidence == logs.Likely:
		return string(d.Blame) + " likely at fault"
	}
	return string(d.Blame) + " at fault"
}

// wasPasted reports whether everything known of the machine stands in a text that was given.
func wasPasted(r report.Report) bool { return report.ArePasted(r.Facts.Probes) }

// writeLog compares a log with the machine: what was predicted and observed, or a program's fault in a good
// environment.
func writeLog(p *layout.Page, r report.Report) {
	if r.Log == nil || slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool { return f.Subject == verdict.StatedSubject }) {
		return // a finding says all of it
	}
	d := *r.Log
	text := DescribeBlame(d) + ": " + d.Because
	switch {
	case d.Rule != "" && r.Fires(d.Rule):
		text = "confirmed: the log shows " + d.Rule + ", and so does the machine"
		if wasPasted(r) {
			text = "the error in the text is that of " + d.Rule
		}
	case d.Rule != "" && d.Blame == logs.Environment && r.Outcome == verdict.Compatible && !hasCompared(r, d.Rule):
		text = "too little is known: the log shows " + d.Rule + ", and nothing that it compares was found here. " + d.Because
	case d.Rule != "" && d.Blame == logs.Environment && r.Outcome == verdict.Compatible:
		text = "they disagree: the log shows " + d.Rule + ", but this machine does not: the log comes from another machine or environment, or the fault has been fixed since. " + d.Because
	case d.Blame == logs.Program && r.Outcome == verdict.Compatible:
		text = "your environment is fine; the program is to blame: " + d.Because
	}
	p.WriteLine()
	p.WriteWrapped(6, text, layout.Paint(layout.Bold, "log"), "   ")
	for i, l := range d.Lines {
		if i == 0 || p.Style.All {
			WriteLogLine(p, l)
		}
	}
	if d.Rule == "" || !r.Fires(d.Rule) {
		WriteNumbered(p, d.Do)
	}
}

// hasCompared reports whether a rule compared something on the machine and found no fault. A rule that compared
// nothing, such as one about builds on a machine without any, cannot exclude the log's error.
func hasCompared(r report.Report, rule string) bool {
	return slices.ContainsFunc(r.Passed, func(p verdict.Passed) bool { return p.Rule == rule })
}

// WriteLogLine writes a line of the log with its place, using at most three lines on a terminal.
func WriteLogLine(p *layout.Page, l logs.Line) {
	place := fmt.Sprintf("line %d", l.Number)
	if l.File != "" {
		place = fmt.Sprintf("%s:%d", l.File, l.Number)
	}
	text, room := l.Text, max(p.Style.Width-len(place)-4, 40)
	if p.Style.Width == 0 || p.Style.All {
		p.WriteLine("  ", layout.Paint(layout.Bold, place), "  ", text)
		return
	}
	p.WriteWrapped(len(place)+4, layout.Shorten(text, 3*room-20), "  ", layout.Paint(layout.Bold, place), "  ")
}

// WriteNumbered writes steps as a numbered list, after an empty line.
func WriteNumbered(p *layout.Page, steps []string) {
	if len(steps) > 0 {
		p.WriteLine()
	}
	for i, step := range steps {
		p.WriteWrapped(5, step, fmt.Sprintf("  %d. ", i+1))
	}
}
