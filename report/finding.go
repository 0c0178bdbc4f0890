package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix"
)

// marks stand before a finding; the severity is in its colour too, never in it alone.
var marks = map[matrix.Severity]painted{
	matrix.Error:   {red, "×"},
	matrix.Warning: {yellow, "‼"},
	matrix.Note:    {cyan, "·"},
}

// finding writes one paragraph: cause, need, evidence, pins, steps, where to read on. Its message is left out where
// the headline is that message, or where the need, with the fact that misses it, says the same. Notes stay short without
// --all.
func (p *page) finding(f said, headline bool) {
	mark := marks[f.Severity]
	p.line()
	p.wrap(4, few(f.subjects, 3)+on(f.targets), painted{mark.code, mark.text + " " + f.Rule}, ": ")
	if p.brief(f.Finding) {
		p.wrap(4, f.Message, "    ")
		return
	}
	told := headline && (needed(f.Finding) != nil || sentence(f.Finding) == f.Message)
	if !told && !strings.Contains(f.Message, "needs "+f.Need) {
		p.wrap(4, f.Message, "    ")
	}
	p.evidence(f.Finding)
	for i, pin := range p.pins(f.Pins) {
		p.pin([]string{"pin", "or"}[min(i, 1)], pin)
	}
	for _, step := range f.Do {
		p.step(step)
	}
	if p.style.All {
		for _, source := range f.Source {
			p.command("from", source)
		}
	}
	p.command("more", "cudacompat explain "+f.Rule)
}

// brief reports whether a finding is told in one sentence.
func (p *page) brief(f matrix.Finding) bool { return f.Severity == matrix.Note && !p.style.All }

// evidence writes the need with the fact that misses it, and the other facts, each place where they were read once.
func (p *page) evidence(f matrix.Finding) {
	held := needed(f)
	if held != nil {
		p.field("needs", fmt.Sprintf("%s; this is %s%s", f.Need, p.short(held.Value), read(*held)))
	} else if f.Need != "" {
		p.field("needs", f.Need)
	}
	var seen []matrix.Evidence
	for i, e := range f.Evidence {
		e.Value = p.short(e.Value)
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
		p.field("seen", e.Fact+between+e.Value+read(e))
	}
}

// speaks reports whether a fact is what its source said of itself: NVML's own complaint.
func speaks(e matrix.Evidence) bool { return e.Fact == e.From }

// valueLimit keeps a list of symbols or machine code to about two lines; --all shows the whole.
const valueLimit = 160

func (p *page) short(value string) string {
	if p.style.All {
		return value
	}
	return short(value, valueLimit)
}

// read is where a fact was read, " (/proc/driver/nvidia/version)".
func read(e matrix.Evidence) string {
	if e.From == "" || speaks(e) {
		return ""
	}
	return " (" + e.From + ")"
}

// pins are those to show: without --all the best one of each package.
func (p *page) pins(list []matrix.Pin) []matrix.Pin {
	if p.style.All {
		return list
	}
	var best []matrix.Pin
	for _, pin := range list {
		if !slices.ContainsFunc(best, func(b matrix.Pin) bool { return b.Package == pin.Package }) {
			best = append(best, pin)
		}
	}
	return best
}

// pin writes a package's command and what it costs; a driver's version first, since its commands depend on the
// system.
func (p *page) pin(word string, pin matrix.Pin) {
	commands := p.commands(pin)
	headed := len(commands) != 1 || pin.Package == "driver"
	switch {
	case pin.Package == "driver":
		p.field(word, fmt.Sprintf("install driver %s: %s", pin.Version, pin.Why))
		word = ""
	case len(commands) > 1: // the version stands in them
		p.field(word, "install "+pin.Package+": "+pin.Why)
		word = ""
	case headed:
		p.field(word, fmt.Sprintf("install %s %s: %s", pin.Package, pin.Version, pin.Why))
		word = ""
	}
	for _, tool := range commands {
		if tool == "ami" { // words, no command
			p.field(word, pin.Commands[tool])
		} else {
			p.command(word, pin.Commands[tool])
		}
		word = ""
	}
	if !headed {
		p.field("", pin.Why)
	}
}

// tools is the order in which a pin's commands are shown.
var tools = []string{"pip", "uv", "apt", "dnf", "ami"}

// commands are the tools whose commands for a pin are shown; tools that this page does not know come last.
func (p *page) commands(pin matrix.Pin) []string {
	order := append(slices.Clone(tools), slices.Sorted(maps.Keys(pin.Commands))...)
	var list []string
	for _, tool := range order {
		if pin.Commands[tool] != "" && (p.style.All || p.suits(tool, pin)) {
			list = add(list, tool)
		}
	}
	return list
}

// suits leaves out what is only another way: uv where there is pip, machine images where this is not EC2.
func (p *page) suits(tool string, pin matrix.Pin) bool {
	switch tool {
	case "uv":
		return pin.Commands["pip"] == ""
	case "ami":
		return p.ec2 || len(pin.Commands) == 1
	}
	return true
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
	p.line(fmt.Sprintf("    %-5s ", name), painted{bold, text})
}

// step writes something to do; one with a command in it is not broken, so that the command can be copied.
func (p *page) step(text string) {
	word := "do"
	if other, ok := strings.CutPrefix(text, "or"); ok && strings.IndexAny(other, ", ") == 0 {
		word, text = "or", strings.TrimLeft(other, ", ")
	}
	for _, program := range []string{"sudo ", "pip ", "uv ", "docker "} {
		if strings.Contains(text, program) && !strings.Contains(text, "`") {
			p.line(fmt.Sprintf("    %-5s ", word), text)
			return
		}
	}
	p.field(word, text)
}
