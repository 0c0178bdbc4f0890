// Package catalog writes what the tables hold: the sets of packages to install on a machine, the rows of a table, and why
// a table has a value.
//
// Sets are also written as requirements and constraints files, tables as JSON, CSV and Markdown.
package catalog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/pin"
)

// PinFormats lists every format of sets of pins.
var PinFormats = []report.Format[pin.Sets]{
	{Name: "text", Write: pinsText},
	{Name: "json", Write: func(w io.Writer, p pin.Sets, _ layout.Style) error { return report.WriteJSON(w, p) }},
	{Name: "requirements", Write: pinsRequirements},
	{Name: "constraints", Write: pinsConstraints},
}

// pinTools is the order of the tools of a set's commands.
var pinTools = []string{"apt", "dnf", "runfile", "pip", "uv"}

// pinsText writes one paragraph for each set. A set that changes no more than the previous one says so.
func pinsText(w io.Writer, pins pin.Sets, s layout.Style) error {
	var b strings.Builder
	fmt.Fprintln(&b, layout.FoldParagraph("pins for "+targetWords(pins.Target), s.Width))
	if len(pins.Target.Assumed) > 0 {
		fmt.Fprintln(&b, layout.FoldParagraph(assumption(pins.Target), s.Width))
	}
	if len(pins.Sets) > 0 && pins.Sets[0].Choice != pin.Together {
		text := "If it has lines with apt, dnf, runfile or \"or\", use one of them to get the driver, and reboot. Then run its pip or its uv command."
		if slices.ContainsFunc(pins.Sets, func(s pin.Set) bool { return s.Choice == pin.ForwardCompat }) {
			text += " forward-compat's apt and dnf install a package of libraries instead, without a reboot."
		}
		if strings.HasPrefix(pins.Target.Platform, "win_") {
			text = "If it names a driver, install that first, and restart. Then run its pip or its uv command."
		}
		if len(pins.Sets) > 1 {
			text = "Choose one set. " + text
		} else {
			text = strings.Replace(text, "If it", "If the set", 1)
		}
		fmt.Fprintln(&b, layout.FoldParagraph(text, s.Width))
	}
	for i, set := range pins.Sets {
		fmt.Fprintln(&b)
		if i > 0 && sameSet(set, pins.Sets[i-1]) {
			fmt.Fprintf(&b, "%s: the same as %s\n", s.PaintHeading(string(set.Choice)), pins.Sets[i-1].Choice)
			continue
		}
		text := layout.FoldParagraph(fmt.Sprintf("%s: %s (%s)", set.Choice, setWords(set), layout.Clean(set.Why)), s.Width)
		fmt.Fprintln(&b, s.PaintHeading(string(set.Choice))+strings.TrimPrefix(text, string(set.Choice)))
		for _, tool := range pinTools {
			if command := set.Commands[tool]; command != "" {
				b.WriteString(pinCommand(tool, command, s.Width))
			}
		}
		for _, step := range set.Steps {
			b.WriteString(pinStep(step, s.Width))
		}
		for _, lack := range set.Lacks {
			fmt.Fprintln(&b, "  "+layout.Clean(lack))
		}
	}
	for _, none := range pins.Missing {
		text := layout.FoldParagraph(fmt.Sprintf("%s: none: %s", none.Choice, layout.Clean(none.Why)), s.Width)
		fmt.Fprintf(&b, "\n%s\n", s.PaintHeading(string(none.Choice))+strings.TrimPrefix(text, string(none.Choice)))
		for _, source := range none.Source {
			fmt.Fprintf(&b, "  %s\n", layout.Clean(source))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pinStep formats a step of a set: another way to its driver, in words.
func pinStep(step pin.Step, width int) string {
	word, text := "", layout.Clean(step.Say)
	if step.Or {
		word = "or"
	}
	lead, more := fmt.Sprintf("  %-7s  ", word), strings.Repeat(" ", 11)
	if width > 0 {
		text = strings.Join(layout.Fold(text, width-len(lead), width-len(more)), "\n"+more)
	}
	return lead + text + "\n"
}

// pinCommand formats a tool's command, after the comment that says where to run it. It folds a command, between words,
// only on a page of limited width.
func pinCommand(tool, text string, width int) string {
	lead, more := fmt.Sprintf("  %-7s  ", tool), strings.Repeat(" ", 11)
	command, comment, ok := strings.Cut(text, "  # ")
	if ok {
		room := width - len(more) - len("# ")
		lead += "# " + strings.Join(layout.FoldIf(comment, room, room, width > 0), "\n"+more+"# ") + "\n" + more
	}
	lines := layout.FoldCommandAfter(command, len(more), width)
	return lead + strings.TrimPrefix(strings.Join(lines, "\n"), more) + "\n"
}

func targetWords(t pin.Target) string {
	parts := []string{}
	for _, p := range []struct{ lead, text string }{{"", t.Instance}, {"driver ", t.Driver}, {"", layout.CountEqual(t.GPUs)},
		{"Python ", t.Python}, {"", t.Platform}, {"glibc ", t.Libc}} {
		if p.text != "" {
			parts = append(parts, p.lead+layout.Clean(p.text))
		}
	}
	return strings.Join(parts, ", ")
}

// assumption names what was assumed about a machine, and the flags that change it.
func assumption(t pin.Target) string {
	return "assumes " + layout.Clean(strings.Join(t.Assumed, " and "))
}

// setWords names the packages of a set and the driver that it needs.
func setWords(s pin.Set) string {
	if s.Choice == pin.Together {
		var words []string
		for _, p := range s.Packages {
			words = append(words, strings.TrimSpace(p.Package+" "+p.Version))
		}
		return strings.Join(words, ", ") + nameDriver(s)
	}
	return s.Packages[0].Package + " " + s.Packages[0].Version + nameDriver(s)
}

// nameDriver names the driver that a set needs, or returns "" if the driver stays.
func nameDriver(s pin.Set) string {
	if s.Driver == "" {
		return ""
	}
	return " on driver " + s.Driver
}

func sameSet(a, b pin.Set) bool {
	return a.Driver == b.Driver && slices.Equal(a.Packages, b.Packages)
}

// pinsRequirements writes the first set as a file for pip and uv's -r.
func pinsRequirements(w io.Writer, pins pin.Sets, _ layout.Style) error {
	return pinFile(w, pins, FormatRequirements)
}

// FormatRequirements returns a set as lines for pip and uv's -r.
func FormatRequirements(s pin.Set) string {
	return pinLines(s, func(p pin.Package) pin.Package { return p }, "--")
}

// pinsConstraints writes the first set as a file for pip's -c, which allows neither extras nor options.
func pinsConstraints(w io.Writer, pins pin.Sets, _ layout.Style) error {
	return pinFile(w, pins, func(s pin.Set) string {
		return pinLines(s, func(p pin.Package) pin.Package { p.Package, _, _ = strings.Cut(p.Package, "["); return p }, "# with --")
	})
}

func pinLines(s pin.Set, as func(pin.Package) pin.Package, option string) string {
	var b strings.Builder
	if s.Index != "" {
		fmt.Fprintf(&b, "%sindex-url %s\n", option, s.Index)
	}
	for _, index := range strings.Fields(s.Extra) {
		fmt.Fprintf(&b, "%sextra-index-url %s\n", option, index)
	}
	for _, p := range s.Packages {
		if p = as(p); p.Version != "" || p.Specifier != "" || option == "--" { // a constraint of a name alone is none
			fmt.Fprintln(&b, p.Spec())
		}
	}
	return b.String()
}

func pinFile(w io.Writer, pins pin.Sets, lines func(pin.Set) string) error {
	if len(pins.Sets) == 0 {
		return fmt.Errorf("there is no set to write: %s", pins.Missing[0].Why)
	}
	s, target := pins.Sets[0], pins.Target
	target.Python = cmp.Or(s.Python, target.Python)
	head := fmt.Sprintf("# %s: %s\n# for %s\n", s.Choice, layout.Clean(s.Why), targetWords(target))
	if len(target.Assumed) > 0 {
		head += "# " + assumption(target) + "\n"
	}
	if s.Driver != "" {
		head += fmt.Sprintf("# needs driver %s\n", s.Driver)
	}
	if s.Extra != "" {
		head += "# for uv add --index-strategy unsafe-best-match\n"
	}
	_, err := io.WriteString(w, head+lines(s))
	return err
}
