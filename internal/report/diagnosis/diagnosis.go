// Package diagnosis writes what explain answers: whose fault a log shows, what the machine that wrote it shows about the
// same error, and the pages about a rule, a cause, a code, a name or a library.
//
// Package logs finds the cause, and package matrix judges the machine. This package compares the two
// (ClassifyResult), and writes pages in Markdown, which layout renders for a terminal.
package diagnosis

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/logs"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// Explained is the diagnosis of a log and, if a machine was examined, what is broken there.
type Explained struct {
	logs.Diagnosis
	Findings []verdict.Finding `json:"findings"`           // of the machine that was asked: those that can bring the log's error about
	Apart    []verdict.Finding `json:"apart"`              // errors of that machine that cannot
	Compared *Compared         `json:"compared,omitempty"` // nil when no machine was asked
	Verbose  bool              `json:"-"`                  // the text says what decided and why
}

// Compared is the machine that a log was compared with.
type Compared struct {
	With    string          `json:"with"`    // "this machine", "the facts in node.json"
	Why     string          `json:"why"`     // why it was looked at; empty where the caller asked for it
	Outcome verdict.Outcome `json:"outcome"` // of that machine
	Driver  string          `json:"driver"`  // "535.183.01"; empty: none is known
	Result  Result          `json:"result"`
	Own     bool            `json:"-"` // it stands in the log itself: another machine is out of the question
}

// Result says what a machine shows about the error in a log.
type Result string

// The values of a Result.
const (
	ResultConfirmed Result = "confirmed" // it has what the log shows
	ResultExplains  Result = "explains"  // what is broken there can bring the log's error about
	ResultApart     Result = "apart"     // what is broken there cannot
	ResultFixed     Result = "fixed"     // it is compatible, and what the log shows was looked for and is not there
	ResultNothing   Result = "nothing"   // it is compatible, and nothing of it is about the log's error
	ResultUnknown   Result = "unknown"   // too little is known of it
)

// ClassifyResult returns what a machine shows about a log's error, which belongs to a rule or to none.
func ClassifyResult(rule string, findings, apart []verdict.Finding, v verdict.Verdict) Result {
	open := func(m verdict.Missing) bool { return m.Rule == rule }
	switch {
	case len(findings) > 0 && findings[0].Rule == rule:
		return ResultConfirmed
	case len(findings) > 0:
		return ResultExplains
	case len(apart) > 0:
		return ResultApart
	case v.Outcome != verdict.Compatible || slices.ContainsFunc(v.Unknown, open):
		return ResultUnknown
	case slices.ContainsFunc(v.Passed, func(p verdict.Passed) bool { return p.Rule == rule }):
		return ResultFixed
	}
	return ResultNothing
}

// Formats lists every format of an explained log.
var Formats = []report.Format[Explained]{
	{Name: "text", Write: explainedText},
	{Name: "json", Write: WriteJSON},
}

// WriteJSON writes the diagnosis in the form "cudacompat/diagnosis/v1", together with the findings.
func WriteJSON(w io.Writer, e Explained, _ layout.Style) error {
	if e.Findings == nil {
		e.Findings = []verdict.Finding{}
	}
	if e.Apart == nil {
		e.Apart = []verdict.Finding{}
	}
	return report.WriteJSON(w, e)
}

var blameColour = map[logs.Blame]string{logs.Environment: layout.Red, logs.Hardware: layout.Red, logs.Program: layout.Yellow,
	logs.Unknown: layout.Cyan, logs.None: layout.Green}

// explainedText writes whose fault it is, the lines that show it, and what to do in order.
func explainedText(w io.Writer, e Explained, s layout.Style) error {
	p := &layout.Page{Style: s}
	d := e.Diagnosis
	p.WriteWrapped(4, cmp.Or(d.Because, "no line of this log is a known error"), layout.Paint(blameColour[d.Blame],
		plaintext.DescribeBlame(d)), ": ")
	if d.Why != "" {
		p.WriteWrapped(2, d.Why, "  ")
	}
	if len(d.Lines) > 0 {
		p.WriteLine()
	}
	for i, l := range d.Lines {
		if i < 3 || s.All || d.Blame == logs.None {
			plaintext.WriteLogLine(p, l)
		}
		if l.Why != "" && len(d.Lines) > 1 {
			p.WriteWrapped(6, l.Why, "      ")
		}
	}
	if !e.hasSteps() {
		plaintext.WriteNumbered(p, d.Do)
	}
	writeCandidates(p, slices.DeleteFunc(slices.Clone(d.Candidates), e.standsApart))
	writeUnread(p, d.Unread)
	if e.Compared != nil {
		p.WriteLine()
		p.WriteWrapped(2, e.machineSays(), "  ")
	}
	for _, f := range slices.Concat(e.Findings, e.Apart) {
		plaintext.WriteFinding(p, report.Statement{Finding: f, Subjects: []string{f.Subject}}, false)
	}
	if e.Verbose {
		writeDecided(p, d.Decided)
	}
	if !e.hasSteps() {
		writePointers(p, d, e.Compared != nil)
	}
	_, err := w.Write(p.Bytes())
	return err
}

// hasSteps reports whether a finding of the machine provides the steps.
func (e Explained) hasSteps() bool {
	return len(e.Findings) > 0 && e.Findings[0].Severity == verdict.Error
}

// standsApart reports whether a candidate is a fault of the machine that has its own paragraph.
func (e Explained) standsApart(c logs.Candidate) bool {
	return slices.ContainsFunc(e.Apart, func(f verdict.Finding) bool { return f.Rule == c.Cause })
}

// machineSays says what the examined machine shows about the log's error.
func (e Explained) machineSays() string {
	c := e.Compared
	with := c.With + " (driver not known)"
	switch {
	case c.Driver != "":
		with = c.With + " (driver " + c.Driver + ")"
	case c.With == "this machine":
		with = c.With + " (no driver)"
	}
	why := ""
	if c.Why != "" {
		why = " It was looked at because " + c.Why + "; --no-here judges only the log."
	}
	switch c.Result {
	case ResultConfirmed:
		return fmt.Sprintf("Confirmed: %s has %s, too.", with, e.Rule) + why
	case ResultExplains:
		return fmt.Sprintf("Compared with %s: it has a fault that can bring this log's error about.", with) + why
	case ResultApart:
		if e.Blame == logs.Unknown {
			return fmt.Sprintf("Compared with %s: it has a fault, and the log does not tell whether that is its error's cause.",
				with) + why
		}
		return fmt.Sprintf("Compared with %s: it has a fault that does not bring this log's error about.", with) + why
	case ResultFixed:
		if c.Own {
			return fmt.Sprintf("Compared with %s: it does not have %s.", with, e.Rule) + why
		}
		return fmt.Sprintf("Compared with %s: it is compatible and does not have %s. The log comes from another machine or environment, or the fault has been fixed since.", with, e.Rule) + why
	case ResultNothing:
		return fmt.Sprintf("Compared with %s: it is compatible, and nothing on it is about this log's error.", with) + why
	}
	return fmt.Sprintf("Compared with %s: too little is known of it to tell whether it brings this log's error about.", with) + why
}

// writeDecided says which claim won and why, and lists the others.
func writeDecided(p *layout.Page, all []string) {
	if len(all) == 0 {
		return
	}
	p.WriteLine()
	p.WriteLine("  decided by")
	for _, why := range all {
		p.WriteWrapped(6, why, "    - ")
	}
}

// writeCandidates writes the possible causes, each with the command that would decide.
func writeCandidates(p *layout.Page, all []logs.Candidate) {
	if len(all) > 0 {
		p.WriteLine()
		p.WriteLine("  possible causes, the likeliest first, and what decides each (give explain its output, too):")
	}
	for _, c := range all {
		p.WriteWrapped(8, c.Cause+" ("+string(c.Blame)+"): `"+c.Fetch+"`", "    ? ")
	}
}

// writeUnread says what was not read.
func writeUnread(p *layout.Page, all []string) {
	if len(all) > 0 {
		p.WriteLine()
	}
	for _, sentence := range all {
		p.WriteWrapped(12, sentence, "  not read  ")
	}
}

// writePointers points to the page of the rule or cause, and says what the machine itself could add.
func writePointers(p *layout.Page, d logs.Diagnosis, compared bool) {
	p.WriteLine()
	switch {
	case d.Cause == logs.NothingFound:
		p.WriteLine("  cudacompat explain lists what it knows; cudacompat doctor judges the machine")
	case d.Cause == logs.EndedWell:
		p.WriteLine("  cudacompat doctor  # judges the machine")
	case d.Rule != "":
		p.WriteLine("  more  cudacompat explain ", d.Rule)
		if !compared {
			p.WriteLine("        cudacompat doctor  # says whether this machine has the fault")
		}
	default:
		p.WriteLine("  more  cudacompat explain ", d.Cause)
	}
}

// DescribeCause returns the page of a cause from its signatures, in Markdown: its meaning, an example, what to do, and
// where it was seen.
func DescribeCause(own []signature.Signature) []byte {
	p := &layout.Page{}
	p.WriteLine("# ", own[0].Cause)
	p.WriteLine()
	p.WriteWrapped(0, "Whose fault: "+plaintext.NameBlame(own[0].Blame))
	p.WriteLine()
	p.WriteLine("## What it means")
	p.WriteLine()
	p.WriteWrapped(0, finding.Means(own))
	p.WriteLine()
	writeSeen(p, own)
	if _, do := own[0].Words(); len(do) > 0 {
		p.WriteLine("## What to do")
		plaintext.WriteNumbered(p, do)
		p.WriteLine()
	}
	writeSources(p, own)
	return p.Bytes()
}

// writeSeen writes lines as programs printed them.
func writeSeen(p *layout.Page, own []signature.Signature) {
	title := "## What you see\n"
	for _, sig := range own {
		if sig.Positive == "" {
			continue
		}
		for _, line := range strings.Split(title, "\n") {
			if title != "" {
				p.WriteLine(line)
			}
		}
		title = ""
		p.WriteLine("    ", layout.Shorten(sig.Positive, 200))
	}
	if title == "" {
		p.WriteLine()
	}
}

func writeSources(p *layout.Page, own []signature.Signature) {
	var all []string
	for _, sig := range own {
		all = append(all, sig.Source...)
	}
	if len(all) == 0 {
		return
	}
	p.WriteLine("## Sources")
	p.WriteLine()
	for _, source := range all {
		p.WriteLine("- ", source)
	}
}
