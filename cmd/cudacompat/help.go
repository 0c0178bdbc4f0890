package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help is at most helpWidth wide. Its right column begins after most flags. On a page narrower than narrowHelp it
// begins at narrowColumn.
const (
	helpWidth    = 80
	helpColumn   = 26
	narrowHelp   = 60
	narrowColumn = 10
)

// helpPage is the page for a command's help.
type helpPage struct {
	io.Writer
	width int // in columns
}

// newHelpPage returns a page as wide as the terminal, but at most helpWidth.
func newHelpPage(w io.Writer) helpPage {
	if width := terminal.Width(w); width > 0 {
		return helpPage{w, min(width, helpWidth)}
	}
	return helpPage{w, helpWidth}
}

// flagGroups lists the flags of all commands in the order of the help.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"What to read", []string{"root", "offline", "env", "log", "facts", "here", "no-here", "diff", "include-root", "platform", "wait", "timeout", "max-age", "inventory"}},
	{"What to assume", []string{"driver", "gpu", "instance", "python", "what-if"}},
	{"What to offer", []string{"want", "choice"}},
	{"When to fail", []string{"require", "supports", "check", "fail-on", "ignore", "config", "yes", "dry-run"}},
	{"Tables", []string{"matrix"}},
	{"Output", []string{"output", "healthcheck", "color", "all", "verbose", "version", "help"}},
}

// commandGroups lists the commands in the order of the help.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Find faults", []string{"doctor", "check", "explain", "fleet"}},
	{"Choose versions and hosts", []string{"guard", "pins", "requires"}},
	{"Look up", []string{"matrix", "probe", "schema"}},
	{"This program", []string{"version", "completion", "help"}},
}

// The exit codes in the help. A command with other meanings explains them in exitNote.
const (
	exitNote  = "exit"
	exitUsual = "0 compatible · 1 incompatible · 3 inconclusive: a fact that matters is missing · " + exitOwn
	exitPlain = "0 done · " + exitOwn
	exitOwn   = "64 wrong usage, or a file that cannot be read · 70 internal error"
)

// showHelp writes what a command does, its flags in groups, examples and exit codes.
func showHelp(cmd *cobra.Command, _ []string) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Usage = "show this help"
	p := newHelpPage(cmd.OutOrStdout())
	fmt.Fprintf(p, "%s\n\nUsage: %s %s\n", p.paragraphs(cmp.Or(cmd.Long, cmd.Short+".")), cmd.CommandPath(), usageTail(cmd))
	if cmd.HasParent() {
		p.flags(cmd.Flags())
	} else {
		p.commands(cmd)
	}
	if cmd.Example != "" {
		fmt.Fprintf(p, "\nExamples:\n%s\n", p.examples(cmd.Example))
	}
	fmt.Fprintln(p, "\nExit codes:")
	for _, note := range strings.Split(cmp.Or(cmd.Annotations[exitNote], exitUsual), " · ") {
		code, meaning, _ := strings.Cut(note, " ")
		p.entry("  "+code, 6, meaning)
	}
	if !cmd.HasParent() {
		fmt.Fprintf(p, "\n%s\n", p.paragraphs("`cudacompat COMMAND --help` shows a command's flags and exit codes."))
	}
}

// commands writes the commands in their groups.
func (p helpPage) commands(root *cobra.Command) {
	for _, group := range commandGroups {
		fmt.Fprintf(p, "\n%s:\n", group.title)
		for _, name := range group.commands {
			if c, _, err := root.Find([]string{name}); err == nil {
				p.entry("  "+name, 14, c.Short)
			}
		}
	}
}

// paragraphs folds a text. It leaves indented lines, which are examples, whole.
func (p helpPage) paragraphs(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = strings.Join(layout.Fold(line, p.width, p.width), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// examples folds commands where the terminal would break them.
func (p helpPage) examples(text string) string {
	if p.width >= narrowHelp {
		return text
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, layout.FoldCommand(strings.TrimSpace(line), 2, p.width)...)
	}
	return strings.Join(lines, "\n")
}

// usageTail returns what follows a command's name.
func usageTail(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "COMMAND [flags]"
	}
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(arguments + " [flags]")
}

// flags writes the flags in their groups.
func (p helpPage) flags(flags *pflag.FlagSet) {
	for _, group := range flagGroups {
		title := "\n" + group.title + ":\n"
		for _, name := range group.flags {
			f := flags.Lookup(name)
			if f == nil || f.Hidden {
				continue
			}
			fmt.Fprint(p, title)
			title = ""
			p.entry(flagName(f), helpColumn, flagText(f))
		}
	}
}

// flagName returns a flag as it is typed: "  -o, --output FORMAT[=FILE]".
func flagName(f *pflag.Flag) string {
	short := "      "
	if f.Shorthand != "" {
		short = "  -" + f.Shorthand + ", "
	}
	value, _ := pflag.UnquoteUsage(f)
	return strings.TrimRight(short+"--"+f.Name+" "+value, " ")
}

// flagText returns what a flag does, with its default. A usage that begins with the name of its value and a colon does
// not repeat the name after the flag.
func flagText(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	text = strings.TrimPrefix(text, value+": ")
	switch f.DefValue {
	case "", "false", "[]", "0s":
		return text
	}
	value = f.DefValue
	if f.Value.Type() == "duration" {
		value = strings.TrimSuffix(strings.Replace(value, "m0s", "m", 1), "0m") // 1m0s, 24h0m0s
	}
	return text + " (default " + value + ")"
}

// entry writes a name and its meaning, side by side if there is room.
func (p helpPage) entry(name string, column int, text string) {
	if p.width < narrowHelp {
		column = min(column, narrowColumn)
	}
	lines := layout.Fold(text, p.width-column, p.width-column)
	margin := "\n" + strings.Repeat(" ", column)
	if len(name)+2 > column {
		fmt.Fprintln(p, name+margin+strings.Join(lines, margin))
		return
	}
	fmt.Fprintf(p, "%-*s%s\n", column, name, strings.Join(lines, margin))
}
