package plaintext

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/guard"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// GuardFormats lists every format of a forecast.
var GuardFormats = []report.Format[guard.Forecast]{
	{Name: "text", Write: guardText},
	{Name: "json", Write: func(w io.Writer, f guard.Forecast, _ layout.Style) error { return report.WriteJSON(w, f) }},
}

// guardText says what a command would do: the decision, the plan, and the difference that it makes.
func guardText(w io.Writer, f guard.Forecast, s layout.Style) error {
	p := &layout.Page{Style: s}
	writeDecision(p, f)
	writeForecastPlan(p, f)
	writeForecastLines(p, "breaks", layout.Red, sentences(f.Breaks))
	writeForecastLines(p, "fixes", layout.Green, sentences(f.Fixes))
	writeForecastLines(p, "unknown", layout.Yellow, untold(f.Unknown))
	writeForecastLines(p, "warns", layout.Yellow, sentences(f.Warns))
	writeForecastLines(p, "still", layout.Yellow, sentences(f.Still))
	writeAlternative(p, f)
	writeConfiguration(p, f.Configuration)
	_, err := w.Write(p.Bytes())
	return err
}

var decisions = map[guard.Decision]layout.Painted{guard.Fine: layout.Paint(layout.Green, "fine"), guard.Breaks: layout.Paint(layout.Red, "breaks"),
	guard.Unclear: layout.Paint(layout.Yellow, "unknown")}

// writeDecision writes the decision in one sentence.
func writeDecision(p *layout.Page, f guard.Forecast) {
	p.WriteWrapped(2, ": "+headOf(f), decisions[f.Decision])
}

func headOf(f guard.Forecast) string {
	command := "`" + guard.Shell(f.Command) + "`"
	switch {
	case f.Decision == guard.Breaks && len(f.Breaks) > 0:
		text := command + " would leave this behind: " + report.FormatSentence(f.Breaks[0])
		if n := len(f.Breaks) - 1; n > 0 {
			text += " (and " + layout.CountNoun(n, "more error") + ")"
		}
		return text
	case f.Decision == guard.Breaks:
		for _, c := range f.Changes {
			if c.Will == verdict.Broken && c.Was != verdict.Broken {
				return command + " would break " + strings.TrimSpace(c.Build+" "+c.To)
			}
		}
	case f.Decision == guard.Unclear:
		return "whether " + command + " breaks something cannot be determined beforehand"
	case len(f.Plan.Installs)+len(f.Plan.Removes)+f.Others == 0:
		return command + " would change nothing"
	case len(f.Plan.Installs)+len(f.Plan.Removes) == 0:
		return command + " changes nothing that affects CUDA"
	case len(f.Still) > 0:
		return command + " breaks nothing that is not broken already"
	}
	return command + " breaks nothing"
}

// writeForecastPlan writes what the installer would do, and the builds whose release or answer changes.
func writeForecastPlan(p *layout.Page, f guard.Forecast) {
	lines := DescribePlan(f.Plan)
	if f.Others > 0 && len(lines) > 0 {
		lines = append(lines, "and "+layout.CountNoun(f.Others, "package")+" unrelated to CUDA")
	}
	if len(lines) > 0 {
		p.WriteLine()
	}
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		writeForecastLine(p, verb, layout.Bold, rest)
	}
	if len(f.Changes) > 0 {
		p.WriteLine()
	}
	build, from, to := 0, 0, 0 // as wide as their columns need to be: a terminal has 80
	for _, c := range f.Changes {
		build, from, to = max(build, len(c.Build)), max(from, len(orNone(c.From))), max(to, len(orNone(c.To)))
	}
	for _, c := range f.Changes {
		p.WriteLine(fmt.Sprintf("  %-*s  %-*s -> %-*s  ", build, c.Build, from, orNone(c.From), to, orNone(c.To)), wordOf(c.Was),
			" -> ", wordOf(c.Will), layout.NameTargets(layout.AppendUnique(nil, c.Target)))
	}
}

func orNone(release string) string {
	if release == "" {
		return "not there"
	}
	return release
}

// wordOf returns an answer in words, or nothing for a build that does not exist.
func wordOf(a verdict.Answer) layout.Painted {
	if a == "" {
		return layout.Paint("", "-")
	}
	return AnswerWords[a]
}

func writeForecastLines(p *layout.Page, verb, colour string, list []string) {
	if len(list) > 0 {
		p.WriteLine()
	}
	for _, text := range list {
		writeForecastLine(p, verb, colour, text)
	}
}

func writeForecastLine(p *layout.Page, verb, colour, text string) {
	p.WriteWrapped(11, text, "  ", layout.Paint(colour, verb), strings.Repeat(" ", max(9-len(verb), 1)))
}

func sentences(list []verdict.Finding) []string {
	var lines []string
	for _, f := range list {
		lines = layout.AppendUnique(lines, report.FormatSentence(f)+" ("+f.Rule+layout.NameTargets(layout.AppendUnique(nil, f.Target))+")")
	}
	return lines
}

func untold(list []verdict.Missing) []string {
	var lines []string
	for _, m := range list {
		lines = layout.AppendUnique(lines, cmp.Or(m.Of, m.Subject)+": "+m.Missing)
	}
	return lines
}

// writeAlternative writes the command to run instead of one that breaks something: an alternative that was tried,
// otherwise the fix of the first error.
func writeAlternative(p *layout.Page, f guard.Forecast) {
	switch {
	case f.Instead != nil:
		p.WriteLine()
		p.WriteCommand("instead", guard.Shell(f.Instead.Command))
		p.WriteWrapped(12, "its dry run was judged, too: it breaks nothing", strings.Repeat(" ", 12))
	case f.Decision == guard.Breaks && len(f.Breaks) > 0:
		p.WriteLine()
		writeFixes(p, f.Breaks[0])
	}
}

// WriteGuardDifferences says, after a command has run, what differs from the forecast.
func WriteGuardDifferences(w io.Writer, f guard.Forecast) error {
	for _, d := range f.Differs {
		is, foretold := AnswerWords[d.Is].Text, AnswerWords[d.Foretold].Text
		line := fmt.Sprintf("guard: %s%s: %s, but the forecast was %s", d.Build, layout.NameTargets(layout.AppendUnique(nil, d.Target)), is, foretold)
		switch {
		case d.Is == "":
			line = fmt.Sprintf("guard: %s is not there, but the forecast was %s", d.Build, foretold)
		case d.Foretold == "":
			line = fmt.Sprintf("guard: %s: %s, which the forecast did not have", d.Build, is)
		}
		if _, err := fmt.Fprintln(w, layout.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}
