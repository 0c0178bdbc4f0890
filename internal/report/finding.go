package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// marks stand before a finding; the severity is in its colour too, never in it alone.
var marks = map[verdict.Severity]paintedText{
	verdict.Error:   {red, "×"},
	verdict.Warning: {yellow, "‼"},
	verdict.Note:    {cyan, "·"},
}

// finding writes one paragraph: cause, need, evidence, how to mend it, where to read on. Its message is left out where
// the headline is that message, or where the need, with the fact that misses it, says the same. Notes stay short without
// --all.
func (p *page) finding(f statement, headline bool) {
	mark := marks[f.Severity]
	p.line()
	p.wrap(4, few(f.subjects, 3)+on(f.targets), paintedText{mark.code, mark.text + " " + f.Rule}, ": ")
	if p.brief(f.Finding) {
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
	p.mend(f.Finding)
	if p.style.All {
		for _, source := range f.Source {
			p.command("from", source)
		}
	}
	p.command("more", "cudacompat explain "+f.Rule)
}

// brief reports whether a finding is told in one sentence.
func (p *page) brief(f verdict.Finding) bool { return f.Severity == verdict.Note && !p.style.All }

// evidence writes the need with the fact that misses it, and the other facts, each place where they were read once.
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

// speaks reports whether a fact is what its source said of itself: NVML's own complaint.
func speaks(e verdict.Evidence) bool { return e.Fact == e.From }

// valueLimit keeps a list of symbols or machine code to about two lines; --all shows the whole.
const valueLimit = 160

func (p *page) short(value string) string {
	if p.style.All {
		return value
	}
	return short(value, valueLimit)
}

// readAt is where a fact was read, " (/proc/driver/nvidia/version)".
func readAt(e verdict.Evidence) string {
	if e.From == "" || speaks(e) {
		return ""
	}
	return " (" + e.From + ")"
}

// mend writes the ways to mend a finding: what to install, and steps. The first line says "fix", a further step of the
// same way "then", and another way "or".
func (p *page) mend(f verdict.Finding) {
	word := "fix"
	for _, pin := range f.Pins {
		p.pin(word, pin)
		word = "or"
	}
	p.follow(word, f.Steps)
}

// follow writes steps; word is for the first one, which is another way where pins stand before it and it says so.
func (p *page) follow(word string, list []pin.Step) {
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

// pin writes the commands of a pin, each by itself another way, and what it costs. The driver's say its version, which
// they do not have.
func (p *page) pin(word string, pin verdict.Pin) {
	commands := p.commands(pin)
	switch {
	case len(commands) > 0:
		for _, tool := range commands {
			p.command(word, pin.Commands[tool])
			word = "or"
		}
		p.field("", costs(pin))
	case len(pin.Steps) == 0:
		p.field(word, "install "+costs(pin))
	}
	p.follow(word, pin.Steps)
}

// costs is what a pin costs, with the release where its commands do not have it.
func costs(p verdict.Pin) string {
	if p.Package == "driver" || len(p.Commands) == 0 {
		return p.Package + " " + p.Version + "; " + p.Why
	}
	return p.Why
}

// tools is the order in which a pin's commands are shown.
var tools = []string{"pip", "uv", "apt", "dnf"}

// commands are the tools whose commands for a pin are shown; tools that this page does not know come last. uv is left
// out where there is pip.
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

// field writes "    name  text", wrapped under the text.
func (p *page) field(name, text string) { p.wrap(10, text, fmt.Sprintf("    %-5s ", name)) }

// command writes a line that is there to be copied: it is never broken. The shell's comment at its end, which says where
// it is for, comes first.
func (p *page) command(name, text string) {
	text, comment, _ := strings.Cut(text, "  # ")
	if comment != "" {
		p.field(name, "# "+comment)
		name = ""
	}
	p.line(fmt.Sprintf("    %-5s ", name), paintedText{bold, text})
}

// step writes a step: its command, and below it what that does, or words.
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
