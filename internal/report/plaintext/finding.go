package plaintext

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// SeverityMarks are the marks before a finding. The colour also shows the severity, but is never the only sign.
var SeverityMarks = map[verdict.Severity]layout.Painted{
	verdict.Error:   layout.Paint(layout.Red, "×"),
	verdict.Warning: layout.Paint(layout.Yellow, "‼"),
	verdict.Note:    layout.Paint(layout.Cyan, "·"),
}

// WriteFinding writes one paragraph: cause, need, evidence, fix, and where to read more. It omits the message if the
// headline is the same, or if the need and its fact say the same. Without --all, notes are short.
func WriteFinding(p *layout.Page, f report.Statement, headline bool) {
	mark := SeverityMarks[f.Severity]
	p.WriteLine()
	p.WriteWrapped(4, layout.ListFirst(f.Subjects, 3)+layout.NameTargets(f.Targets), layout.Paint(mark.Colour, mark.Text+" "+f.Rule), ": ")
	if isBrief(f.Finding, p.Style.All) {
		p.WriteWrapped(4, f.Message, "    ")
		return
	}
	told := headline && (report.FindNeededFact(f.Finding) != nil || report.FormatSentence(f.Finding) == f.Message)
	if !told && !strings.Contains(f.Message, "needs "+f.Need) {
		p.WriteWrapped(4, f.Message, "    ")
	}
	for _, other := range f.Variants {
		p.WriteWrapped(4, other, "    ")
	}
	writeEvidence(p, f.Finding)
	writeFixes(p, f.Finding)
	if p.Style.All {
		for _, source := range f.Source {
			p.WriteCommand("from", source)
		}
	}
	p.WriteCommand("more", "cudacompat explain "+f.Rule)
	switch address := (report.Tool{Site: p.Style.Site}).RulePage(f.Rule); {
	case address != "":
		p.WriteField("", address)
	case p.Style.All:
		p.WriteField("", report.RuleFile(f.Rule))
	}
}

// isBrief reports whether a finding takes only one sentence: a note, unless everything is shown.
func isBrief(f verdict.Finding, all bool) bool { return f.Severity == verdict.Note && !all }

// briefNotes returns a function that reports whether a finding takes only one sentence.
func briefNotes(all bool) func(verdict.Finding) bool {
	return func(f verdict.Finding) bool { return isBrief(f, all) }
}

// writeEvidence writes the need with the fact that violates it, and the other facts, naming each source once.
func writeEvidence(p *layout.Page, f verdict.Finding) {
	held := report.FindNeededFact(f)
	if held != nil {
		p.WriteField("needs", fmt.Sprintf("%s; this is %s%s", f.Need, shortenValue(p, held.Value), readAt(*held)))
	} else if f.Need != "" {
		p.WriteField("needs", f.Need)
	}
	var seen []verdict.Evidence
	for i, e := range f.Evidence {
		e.Value = strings.TrimPrefix(shortenValue(p, e.Value), e.Fact+" ") // "GPU of compute capability 8.9"
		last := len(seen) - 1
		switch {
		case held == &f.Evidence[i]:
		case last >= 0 && seen[last].From == e.From && !speaks(e) && !speaks(seen[last]):
			seen[last].Value += ", " + strings.TrimPrefix(e.Fact, seen[last].Fact+" ") + " " + e.Value
		default:
			seen = append(seen, e)
		}
	}
	for _, e := range seen {
		between := " "
		if speaks(e) {
			between = ": "
		}
		p.WriteField("seen", e.Fact+between+e.Value+readAt(e))
	}
}

// speaks reports whether a fact is its source's own message, such as NVML's error text.
func speaks(e verdict.Evidence) bool { return e.Fact == e.From }

// valueLimit keeps a list of symbols or machine code to about two lines. --all shows everything.
const valueLimit = 160

// shortenValue shortens a fact's value, unless everything is shown.
func shortenValue(p *layout.Page, value string) string {
	if p.Style.All {
		return value
	}
	return layout.Shorten(value, valueLimit)
}

// readAt returns where a fact was read, " (/proc/driver/nvidia/version)".
func readAt(e verdict.Evidence) string {
	if e.From == "" || speaks(e) {
		return ""
	}
	return " (" + e.From + ")"
}

// writeFixes writes the ways to fix a finding: packages to install, and steps. The first line begins with "fix", a
// further step of the same way with "then", and another way with "or".
func writeFixes(p *layout.Page, f verdict.Finding) {
	word := "fix"
	for _, pin := range f.Pins {
		writePin(p, word, pin)
		word = "or"
	}
	writeSteps(p, word, f.Steps)
}

// writeSteps writes the steps of a fix. The first one begins with word, which is "or" after pins; if that step is no
// alternative to the pins, it begins with "then".
func writeSteps(p *layout.Page, word string, list []pin.Step) {
	if word == "or" && len(list) > 0 && !list[0].Or {
		word = "then"
	}
	for i, s := range list {
		switch {
		case i > 0 && s.Or:
			word = "or"
		case i > 0:
			word = "then"
		}
		writeStep(p, word, s)
	}
}

// writePin writes in words what to install, and then the commands, each of which is sufficient.
func writePin(p *layout.Page, word string, pin verdict.Pin) {
	commands := listTools(p, pin)
	for i, tool := range commands {
		command, comment, _ := strings.Cut(pin.Commands[tool], "  # ")
		if i == 0 || comment != "" {
			p.WriteField(word, pinOn(pin, comment, i == 0))
			word = ""
		}
		p.WriteCommand(word, command)
		word = "or"
	}
	if len(commands) == 0 && len(pin.Steps) == 0 {
		p.WriteField(word, DescribePin(pin))
	}
	writeSteps(p, word, pin.Steps)
}

// pinOn writes what a command of a pin installs and where: "install driver 580.178.04 on RHEL 8 and 9; needs NVIDIA's
// repository". The comment behind the command names the systems, or the repository with the systems in parentheses. The
// first command says what the pin costs, too.
func pinOn(p verdict.Pin, comment string, first bool) string {
	cost, systems, ok := strings.Cut(strings.TrimSuffix(comment, ")"), " (")
	if !ok && comment == "Ubuntu" {
		cost, systems = "", comment
	}
	if systems != "" {
		systems = " on " + systems
	}
	what, why, _ := strings.Cut(DescribePin(p), "; ")
	if !first {
		why = ""
	}
	return layout.JoinNonEmpty("; ", what+systems, why, cost)
}

// DescribePin says what a pin installs and what it changes: "install torch 2.9.0 for CUDA 12.6; keeps the driver".
func DescribePin(p verdict.Pin) string {
	release, local, _ := strings.Cut(p.Version, "+")
	text := "install " + p.Package + " " + release
	switch cuda, ok := strings.CutPrefix(local, "cu"); {
	case ok && len(cuda) >= 3 && strings.Trim(cuda, "0123456789") == "":
		text += " for CUDA " + cuda[:len(cuda)-1] + "." + cuda[len(cuda)-1:]
	case local != "":
		text += "+" + local
	}
	return layout.JoinNonEmpty("; ", text, p.Why)
}

// PinTools is the order of a pin's commands.
var PinTools = []string{"pip", "uv", "apt", "dnf"}

// listTools returns the tools whose commands are shown for a pin. Unknown tools come last. uv is omitted if there is a
// pip command.
func listTools(p *layout.Page, pin verdict.Pin) []string {
	order := append(slices.Clone(PinTools), slices.Sorted(maps.Keys(pin.Commands))...)
	var list []string
	for _, tool := range order {
		if pin.Commands[tool] != "" && (p.Style.All || tool != "uv" || pin.Commands["pip"] == "") {
			list = layout.AppendUnique(list, tool)
		}
	}
	return list
}

// writeStep writes a step: its command with an explanation below it, or words.
func writeStep(p *layout.Page, word string, s pin.Step) {
	if s.Run == "" {
		p.WriteField(word, s.Say)
		return
	}
	p.WriteCommand(word, s.Run)
	if s.Say != "" {
		p.WriteField("", s.Say)
	}
}
