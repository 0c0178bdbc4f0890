package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// marks are the marks before a finding. The colour also shows the severity, but is never the only sign.
var marks = map[verdict.Severity]paintedText{
	verdict.Error:   {red, "×"},
	verdict.Warning: {yellow, "‼"},
	verdict.Note:    {cyan, "·"},
}

// finding writes one paragraph: cause, need, evidence, fix, and where to read more. It omits the message if the
// headline is the same, or if the need and its fact say the same. Without --all, notes are short.
func (p *page) finding(f statement, headline bool) {
	mark := marks[f.Severity]
	p.line()
	p.wrap(4, few(f.subjects, 3)+on(f.targets), paintedText{mark.code, mark.text + " " + f.Rule}, ": ")
	if isBrief(f.Finding, p.style.All) {
		p.wrap(4, f.Message, "    ")
		return
	}
	told := headline && (neededFact(f.Finding) != nil || sentence(f.Finding) == f.Message)
	if !told && !strings.Contains(f.Message, "needs "+f.Need) {
		p.wrap(4, f.Message, "    ")
	}
	for _, other := range f.others {
		p.wrap(4, other, "    ")
	}
	p.evidence(f.Finding)
	p.writeFixes(f.Finding)
	if p.style.All {
		for _, source := range f.Source {
			p.command("from", source)
		}
	}
	p.command("more", "cudacompat explain "+f.Rule)
	switch address := (Tool{Site: p.style.site}).RulePage(f.Rule); {
	case address != "":
		p.field("", address)
	case p.style.All:
		p.field("", RuleFile(f.Rule))
	}
}

// isBrief reports whether a finding takes only one sentence: a note, unless everything is shown.
func isBrief(f verdict.Finding, all bool) bool { return f.Severity == verdict.Note && !all }

// briefNotes returns a function that reports whether a finding takes only one sentence.
func briefNotes(all bool) func(verdict.Finding) bool {
	return func(f verdict.Finding) bool { return isBrief(f, all) }
}

// evidence writes the need with the fact that violates it, and the other facts, naming each source once.
func (p *page) evidence(f verdict.Finding) {
	held := neededFact(f)
	if held != nil {
		p.field("needs", fmt.Sprintf("%s; this is %s%s", f.Need, p.short(held.Value), readAt(*held)))
	} else if f.Need != "" {
		p.field("needs", f.Need)
	}
	var seen []verdict.Evidence
	for i, e := range f.Evidence {
		e.Value = strings.TrimPrefix(p.short(e.Value), e.Fact+" ") // "GPU of compute capability 8.9"
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
		p.field("seen", e.Fact+between+e.Value+readAt(e))
	}
}

// speaks reports whether a fact is its source's own message, such as NVML's error text.
func speaks(e verdict.Evidence) bool { return e.Fact == e.From }

// valueLimit keeps a list of symbols or machine code to about two lines. --all shows everything.
const valueLimit = 160

func (p *page) short(value string) string {
	if p.style.All {
		return value
	}
	return short(value, valueLimit)
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
func (p *page) writeFixes(f verdict.Finding) {
	word := "fix"
	for _, pin := range f.Pins {
		p.pin(word, pin)
		word = "or"
	}
	p.writeSteps(word, f.Steps)
}

// writeSteps writes the steps of a fix. The first one begins with word, which is "or" after pins; if that step is no
// alternative to the pins, it begins with "then".
func (p *page) writeSteps(word string, list []pin.Step) {
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
		p.step(word, s)
	}
}

// pin writes in words what to install, and then the commands, each of which is sufficient.
func (p *page) pin(word string, pin verdict.Pin) {
	commands := p.commands(pin)
	for i, tool := range commands {
		command, comment, _ := strings.Cut(pin.Commands[tool], "  # ")
		if i == 0 || comment != "" {
			p.field(word, pinOn(pin, comment, i == 0))
			word = ""
		}
		p.command(word, command)
		word = "or"
	}
	if len(commands) == 0 && len(pin.Steps) == 0 {
		p.field(word, pinWords(pin))
	}
	p.writeSteps(word, pin.Steps)
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
	what, why, _ := strings.Cut(pinWords(p), "; ")
	if !first {
		why = ""
	}
	return join("; ", what+systems, why, cost)
}

// pinWords says what a pin installs and what it changes: "install torch 2.9.0 for CUDA 12.6; keeps the driver".
func pinWords(p verdict.Pin) string {
	release, local, _ := strings.Cut(p.Version, "+")
	text := "install " + p.Package + " " + release
	switch cuda, ok := strings.CutPrefix(local, "cu"); {
	case ok && len(cuda) >= 3 && strings.Trim(cuda, "0123456789") == "":
		text += " for CUDA " + cuda[:len(cuda)-1] + "." + cuda[len(cuda)-1:]
	case local != "":
		text += "+" + local
	}
	return join("; ", text, p.Why)
}

// tools is the order of a pin's commands.
var tools = []string{"pip", "uv", "apt", "dnf"}

// commands returns the tools whose commands are shown for a pin. Unknown tools come last. uv is omitted if there is a
// pip command.
func (p *page) commands(pin verdict.Pin) []string {
	order := append(slices.Clone(tools), slices.Sorted(maps.Keys(pin.Commands))...)
	var list []string
	for _, tool := range order {
		if pin.Commands[tool] != "" && (p.style.All || tool != "uv" || pin.Commands["pip"] == "") {
			list = add(list, tool)
		}
	}
	return list
}

// step writes a step: its command with an explanation below it, or words.
func (p *page) step(word string, s pin.Step) {
	if s.Run == "" {
		p.field(word, s.Say)
		return
	}
	p.command(word, s.Run)
	if s.Say != "" {
		p.field("", s.Say)
	}
}
