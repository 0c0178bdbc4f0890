package formats

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/budget"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// WriteScript writes the steps of all errors and warnings as a shell script. The script checks again after each command
// and ends when nothing is wrong any more. This program only prints it. The first way of each finding is a command, the
// others are comments, and manual steps wait for the reader. Commands for a tree run inside it (chroot), so that they
// do not change the machine that runs the script.
func WriteScript(w io.Writer, r report.Report, s layout.Style) error {
	b := &script{again: cmp.Or(s.Again, "cudacompat doctor")}
	b.line("#!/bin/sh")
	b.note(fmt.Sprintf("%s (cudacompat %s, tables of %s)", plaintext.FormatHeadline(r), cmp.Or(r.Tool.Version, "of an unknown version"), r.Tool.Matrix))
	for _, note := range r.Configuration.Notes() {
		b.note("Configuration: " + note + ".")
	}
	findings := report.JoinFindings(slices.DeleteFunc(slices.Clone(r.Findings), func(f verdict.Finding) bool {
		return f.Severity == verdict.Note || len(f.Pins)+len(f.Steps) == 0
	}), func(verdict.Finding) bool { return false })
	if len(findings) == 0 {
		b.note("Nothing was found that has a fix.")
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.note("Read it before you run it, on the machine that it is about. After each command it judges this machine again, and")
	b.note("ends when nothing is wrong.")
	b.line("set -eu")
	b.line("")
	b.line("again() {")
	b.line("  code=0")
	b.line("  " + b.again + " -o line || code=$?")
	b.line("  case $code in")
	b.line("  0) exit 0 ;;")
	b.line("  1 | 3) ;;")
	b.line("  *) exit \"$code\" ;;")
	b.line("  esac")
	b.line("}")
	if b.tree = s.Root; b.tree != "" {
		b.note("The commands are for the tree " + b.tree + ", and run inside it.")
		b.line("in_tree() {")
		b.line("  sudo chroot " + pin.Word(b.tree) + " /bin/sh -c \"$1\"")
		b.line("}")
	}
	b.line("by_hand() {")
	b.line("  printf 'by hand: %s\\nThen press Enter. ' \"$1\"")
	b.line("  read -r _")
	b.line("}")
	first, more := budget.First(findings)
	for i, f := range first {
		b.line("")
		b.note(fmt.Sprintf("%d. %s %s: %s%s", i+1, f.Severity, f.Rule, layout.ListFirst(f.Subjects, 3), layout.NameTargets(f.Targets)))
		b.note("   " + f.Message)
		b.ways(f.Finding)
	}
	if more += r.More["findings"]; more > 0 {
		b.line("")
		b.note(fmt.Sprintf("Left out: %s. When these are fixed, `%s -o script` writes the others.", layout.CountNoun(more, "more finding"), b.again))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// script collects the text of a shell script.
type script struct {
	strings.Builder
	again string   // the command that judges again
	tree  string   // the directory of the tree that the commands are for, or ""
	done  []string // commands that stand in it already
}

func (b *script) line(text string) { b.WriteString(text + "\n") }

// note writes a comment. After layout.Clean, text from the machine has no line breaks.
func (b *script) note(text string) { b.line("# " + layout.Clean(text)) }

// ways writes the first way to fix a finding, and the others as comments.
func (b *script) ways(f verdict.Finding) {
	first := true
	for _, steps := range waysOf(f) {
		if first {
			b.way(steps)
			first = false
			continue
		}
		for i, s := range steps {
			word := "or:   "
			if i > 0 {
				word = "then: "
			}
			s.Or = false // the word says it
			b.note(word + s.String())
		}
	}
}

// waysOf returns the ways to fix a finding: each pin, then the steps. Steps that are not another way belong to the
// first pin.
func waysOf(f verdict.Finding) [][]pin.Step {
	var ways [][]pin.Step
	for _, p := range f.Pins {
		ways = append(ways, pinWays(p)...)
	}
	steps := pin.Ways(f.Steps)
	if len(ways) > 0 && len(steps) > 0 && !steps[0][0].Or {
		ways[0] = slices.Concat(ways[0], steps[0])
		steps = steps[1:]
	}
	return slices.Concat(ways, steps)
}

// pinWays returns a pin's commands, each as a way, pip's before uv's. If it has both an apt and a dnf command, the
// system is unknown, and they become words.
func pinWays(p verdict.Pin) [][]pin.Step {
	var ways [][]pin.Step
	_, apt := p.Commands["apt"]
	_, dnf := p.Commands["dnf"]
	for _, tool := range plaintext.PinTools {
		command := p.Commands[tool]
		switch {
		case command == "" || tool == "uv" && p.Commands["pip"] != "":
		case apt && dnf || strings.HasPrefix(command, "RUN "):
			ways = append(ways, []pin.Step{pin.Say(plaintext.DescribePin(p) + ": " + command)})
		default:
			ways = append(ways, []pin.Step{pin.Run(command).Explained(plaintext.DescribePin(p))})
		}
	}
	if len(ways) == 0 && len(p.Steps) == 0 {
		ways = append(ways, []pin.Step{pin.Say("install " + p.Package + " " + p.Version)})
	}
	more := pin.Ways(p.Steps)
	if len(ways) > 0 && len(more) > 0 && !more[0][0].Or { // they go on with the last command's way
		ways[len(ways)-1] = slices.Concat(ways[len(ways)-1], more[0])
		more = more[1:]
	}
	return slices.Concat(ways, more)
}

// way writes the steps of one way. Words before a command must be done first. Words after the last command are remarks,
// unless there is no command.
func (b *script) way(steps []pin.Step) {
	last := -1
	for i, s := range steps {
		if s.Run != "" {
			last = i
		}
	}
	for i, s := range steps {
		switch {
		case s.Run != "":
			b.run(s)
		case last >= 0 && i > last:
			b.note(s.Say)
		default:
			b.line(pin.Command("by_hand", layout.Clean(s.Say)))
			b.line("again")
		}
	}
}

// run writes a command once, even if it fixes several findings. A reboot ends the script, because a shell continues
// while the machine stops.
func (b *script) run(s pin.Step) {
	if slices.Contains(b.done, s.Run) {
		b.note("done above: " + s.Run)
		return
	}
	b.done = append(b.done, s.Run)
	if s.Say != "" {
		b.note(s.Say)
	}
	command, comment, _ := strings.Cut(s.Run, "  # ")
	if comment != "" {
		b.note(comment)
	}
	if b.tree != "" {
		b.line(pin.Command("in_tree", layout.Clean(command)))
	} else {
		b.line(layout.Clean(command))
	}
	if strings.HasSuffix(command, "reboot") {
		b.note("After the reboot: " + b.again + " -o script")
		b.line("exit 0")
		return
	}
	b.line("again")
}
