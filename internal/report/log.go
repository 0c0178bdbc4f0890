package report

import (
	"fmt"
	"slices"

	"cudacompat/internal/logs"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// BlamedSide names a side in the words of the screen.
func BlamedSide(b logs.Blame) string {
	if b == logs.None {
		return "nothing wrong"
	}
	return string(b)
}

// atFault returns the beginning of an answer. It says "likely" for a line that several causes print.
func atFault(d logs.Diagnosis) string {
	switch {
	case d.Blame == logs.None || d.Blame == logs.Unknown:
		return BlamedSide(d.Blame)
	case d.Confidence == logs.Likely:
		return string(d.Blame) + " likely at fault"
	}
	return string(d.Blame) + " at fault"
}

// pasted reports whether everything known of the machine stands in a text that was given.
func (r Report) pasted() bool { return onlyPasted(r.Facts.Probes) }

// writeLog compares a log with the machine: what was predicted and observed, or a program's fault in a good
// environment.
func writeLog(p *layout.Page, r Report) {
	if r.Log == nil || slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool { return f.Subject == verdict.StatedSubject }) {
		return // a finding says all of it
	}
	d := *r.Log
	text := atFault(d) + ": " + d.Because
	switch {
	case d.Rule != "" && r.Fires(d.Rule):
		text = "confirmed: the log shows " + d.Rule + ", and so does the machine"
		if r.pasted() {
			text = "the error in the text is that of " + d.Rule
		}
	case d.Rule != "" && d.Blame == logs.Environment && r.Outcome == verdict.Compatible && !r.hasCompared(d.Rule):
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
			writeLogLine(p, l)
		}
	}
	if d.Rule == "" || !r.Fires(d.Rule) {
		writeNumbered(p, d.Do)
	}
}

// hasCompared reports whether a rule compared something on the machine and found no fault. A rule that compared
// nothing, such as one about builds on a machine without any, cannot exclude the log's error.
func (r Report) hasCompared(rule string) bool {
	return slices.ContainsFunc(r.Passed, func(p verdict.Passed) bool { return p.Rule == rule })
}

// writeLogLine writes a line of the log with its place, using at most three lines on a terminal.
func writeLogLine(p *layout.Page, l logs.Line) {
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

func writeNumbered(p *layout.Page, steps []string) {
	if len(steps) > 0 {
		p.WriteLine()
	}
	for i, step := range steps {
		p.WriteWrapped(5, step, fmt.Sprintf("  %d. ", i+1))
	}
}
