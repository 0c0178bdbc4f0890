package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/guard"
	"cudacompat/matrix/verdict"
)

// GuardFormats lists every format of a forecast.
var GuardFormats = []Format[guard.Forecast]{
	{"text", guardText},
	{"json", func(w io.Writer, f guard.Forecast, _ Style) error { return writeJSON(w, f) }},
}

// guardText says what a command would do: the decision, the plan, and the difference that it makes.
func guardText(w io.Writer, f guard.Forecast, s Style) error {
	p := &page{style: s}
	p.forecastHead(f)
	p.forecastPlan(f)
	p.forecastLines("breaks", red, sentences(f.Breaks))
	p.forecastLines("fixes", green, sentences(f.Fixes))
	p.forecastLines("unknown", yellow, untold(f.Unknown))
	p.forecastLines("warns", yellow, sentences(f.Warns))
	p.forecastLines("still", yellow, sentences(f.Still))
	p.writeAlternative(f)
	p.writeConfiguration(f.Configuration)
	_, err := w.Write(p.Bytes())
	return err
}

var decisions = map[guard.Decision]paintedText{guard.Fine: {green, "fine"}, guard.Breaks: {red, "breaks"},
	guard.Unclear: {yellow, "unknown"}}

// forecastHead writes the decision in one sentence.
func (p *page) forecastHead(f guard.Forecast) {
	p.wrap(2, ": "+headOf(f), decisions[f.Decision])
}

func headOf(f guard.Forecast) string {
	command := "`" + guard.Shell(f.Command) + "`"
	switch {
	case f.Decision == guard.Breaks && len(f.Breaks) > 0:
		text := command + " would leave this behind: " + sentence(f.Breaks[0])
		if n := len(f.Breaks) - 1; n > 0 {
			text += " (and " + plural(n, "more error") + ")"
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

// forecastPlan writes what the installer would do, and the builds whose release or answer changes.
func (p *page) forecastPlan(f guard.Forecast) {
	lines := PlanLines(f.Plan)
	if f.Others > 0 && len(lines) > 0 {
		lines = append(lines, "and "+plural(f.Others, "package")+" unrelated to CUDA")
	}
	if len(lines) > 0 {
		p.line()
	}
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		p.forecastLine(verb, bold, rest)
	}
	if len(f.Changes) > 0 {
		p.line()
	}
	build, from, to := 0, 0, 0 // as wide as their columns need to be: a terminal has 80
	for _, c := range f.Changes {
		build, from, to = max(build, len(c.Build)), max(from, len(orNone(c.From))), max(to, len(orNone(c.To)))
	}
	for _, c := range f.Changes {
		p.line(fmt.Sprintf("  %-*s  %-*s -> %-*s  ", build, c.Build, from, orNone(c.From), to, orNone(c.To)), wordOf(c.Was),
			" -> ", wordOf(c.Will), on(add(nil, c.Target)))
	}
}

func orNone(release string) string {
	if release == "" {
		return "not there"
	}
	return release
}

// wordOf returns an answer in words, or nothing for a build that does not exist.
func wordOf(a verdict.Answer) paintedText {
	if a == "" {
		return paintedText{"", "-"}
	}
	return answers[a]
}

func (p *page) forecastLines(verb, colour string, list []string) {
	if len(list) > 0 {
		p.line()
	}
	for _, text := range list {
		p.forecastLine(verb, colour, text)
	}
}

func (p *page) forecastLine(verb, colour, text string) {
	p.wrap(11, text, "  ", paintedText{colour, verb}, strings.Repeat(" ", max(9-len(verb), 1)))
}

func sentences(list []verdict.Finding) []string {
	var lines []string
	for _, f := range list {
		lines = add(lines, sentence(f)+" ("+f.Rule+on(add(nil, f.Target))+")")
	}
	return lines
}

func untold(list []verdict.Missing) []string {
	var lines []string
	for _, m := range list {
		lines = add(lines, cmp.Or(m.Of, m.Subject)+": "+m.Missing)
	}
	return lines
}

// writeAlternative writes the command to run instead of one that breaks something: an alternative that was tried,
// otherwise the fix of the first error.
func (p *page) writeAlternative(f guard.Forecast) {
	switch {
	case f.Instead != nil:
		p.line()
		p.command("instead", guard.Shell(f.Instead.Command))
		p.wrap(12, "its dry run was judged, too: it breaks nothing", strings.Repeat(" ", 12))
	case f.Decision == guard.Breaks && len(f.Breaks) > 0:
		p.line()
		p.writeFixes(f.Breaks[0])
	}
}

// GuardDiffers says, after a command has run, what differs from the forecast.
func GuardDiffers(w io.Writer, f guard.Forecast) error {
	for _, d := range f.Differs {
		is, foretold := answers[d.Is].text, answers[d.Foretold].text
		line := fmt.Sprintf("guard: %s%s: %s, but the forecast was %s", d.Build, on(add(nil, d.Target)), is, foretold)
		switch {
		case d.Is == "":
			line = fmt.Sprintf("guard: %s is not there, but the forecast was %s", d.Build, foretold)
		case d.Foretold == "":
			line = fmt.Sprintf("guard: %s: %s, which the forecast did not have", d.Build, is)
		}
		if _, err := fmt.Fprintln(w, clean(line)); err != nil {
			return err
		}
	}
	return nil
}
