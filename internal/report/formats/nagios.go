package formats

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// NagiosState is the state and exit code of a monitoring plugin, by the protocol of Nagios, Icinga and Sensu.
type NagiosState int

// The states. Their numbers are the exit codes of the protocol.
const (
	NagiosOK NagiosState = iota
	NagiosWarning
	NagiosCritical
	NagiosUnknown
)

// String returns the state in the words of Nagios.
func (s NagiosState) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// FindNagiosState returns the state of a verdict. Unknown precedes a warning, because it may hide something worse.
func FindNagiosState(v verdict.Verdict) NagiosState {
	switch {
	case v.Outcome == verdict.Incompatible:
		return NagiosCritical
	case v.Outcome == verdict.Inconclusive:
		return NagiosUnknown
	case v.Count(verdict.Warning) > 0:
		return NagiosWarning
	}
	return NagiosOK
}

// nagiosLimit is how much of a plugin's output the oldest readers, such as NRPE 2, keep: 1,024 bytes including the
// final NUL.
const nagiosLimit = 1023

// WriteNagios writes the state in one line with its counts as performance data, then a line for each error and warning.
func WriteNagios(w io.Writer, r report.Report, _ layout.Style) error {
	text, tail := lineText(r)
	_, text, _ = strings.Cut(text, " ") // the state replaces the verdict's own word
	first := fmt.Sprintf("CUDACOMPAT %s - %s | %s", FindNagiosState(r.Verdict),
		replacePipes(layout.CutBytes(layout.Clean(text), 200)+layout.CutBytes(layout.Clean(tail), 100)), perfdata(r))
	lines := []string{first}
	for _, f := range r.Findings {
		if f.Severity == verdict.Note {
			continue // nothing that anybody is woken for
		}
		lines = append(lines, replacePipes(layout.Clean(layout.JoinNonEmpty("; ", fmt.Sprintf("%s %s: %s", f.Severity, f.Rule, plaintext.SummarizeFinding(f)),
			plaintext.DescribeExpiredWaiver(r, f)))))
	}
	for _, s := range r.Suppressed {
		lines = append(lines, replacePipes(layout.Clean(fmt.Sprintf("%s: %s (%s)", s.Rule, plaintext.SummarizeFinding(s.Finding), plaintext.DescribeWaiver(s)))))
	}
	for _, note := range r.Configuration.Notes() {
		lines = slices.Insert(lines, 1, replacePipes(layout.Clean("configuration: "+note)))
	}
	_, err := io.WriteString(w, wholeLines(lines, nagiosLimit))
	return err
}

// replacePipes removes "|" from text, because it begins the performance data.
func replacePipes(text string) string { return strings.ReplaceAll(text, "|", "/") }

// perfdata returns label=value;warn;crit: one error is critical, one warning a warning.
func perfdata(r report.Report) string {
	return fmt.Sprintf("errors=%d;;0 warnings=%d;0 unknown=%d passed=%d waived=%d",
		r.Count(verdict.Error), r.Count(verdict.Warning), len(r.Unknown), len(r.Passed), len(r.Suppressed))
}

// wholeLines returns as many whole lines as fit, and the number of lines left out.
func wholeLines(lines []string, limit int) string {
	text := ""
	for i, line := range lines {
		more := fmt.Sprintf("%d more\n", len(lines)-i)
		if i > 0 && len(text)+len(line)+1+len(more) > limit {
			return text + more
		}
		text += line + "\n"
	}
	return text
}
