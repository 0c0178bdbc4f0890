// Package output writes results as -o asks: each in its format, to standard output or to a file.
//
// Parse checks every -o before anything is read, so that a misspelt format costs no time. Set.Write then writes a value
// in all of them. If the time is up, it writes the first entries of each list and says what it left out; it never writes
// half of a document. Save writes a file at once or not at all, and refuses what another user put into a directory such
// as /tmp.
package output

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
)

// ColourWords are the values of --color.
var ColourWords = []string{"auto", "always", "never"}

// output is one -o: a format and its destination.
type output[T any] struct {
	report.Format[T]
	file  string // empty: standard output
	style layout.Style
}

// Set is all -o options of a command.
type Set[T any] struct {
	list     []output[T]
	out, err io.Writer
}

// ListNames lists the names of formats.
func ListNames[T any](formats []report.Format[T]) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Parse parses every -o FORMAT[=FILE]. Without any, it returns the first format on the screen.
func Parse[T any](formats []report.Format[T], specs []string, colour string, all bool, out, errs io.Writer) (Set[T],
	error) {
	if len(specs) == 0 {
		specs = []string{formats[0].Name}
	}
	result := Set[T]{out: out, err: errs}
	screen, err := ChooseStyle(colour, out)
	if err != nil {
		return result, err
	}
	screen.All = all
	for _, spec := range specs {
		o, err := parseFormat(formats, spec, screen)
		if err != nil {
			return result, err
		}
		if o.file != "" && slices.ContainsFunc(result.list, func(other output[T]) bool {
			return other.file != "" && leadToOneFile(other.file, o.file)
		}) {
			return result, &usage.Error{Message: fmt.Sprintf("two formats would be written to %q", o.file),
				Hint: "give each its own file"}
		}
		result.list = append(result.list, o)
	}
	return result, nil
}

// leadToOneFile reports whether two names lead to one file, such as a and ./a, or a link to it. /dev/stdout and /dev/stderr
// may be one terminal, which is allowed.
func leadToOneFile(a, b string) bool {
	if info, err := os.Stat(a); a == b || err == nil && !info.Mode().IsRegular() {
		return a == b
	}
	first, err := followLinks(a)
	second, other := followLinks(b)
	return err == nil && other == nil && first == second
}

// parseFormat parses one -o. Output to a file has neither colour nor width.
func parseFormat[T any](formats []report.Format[T], spec string, screen layout.Style) (output[T], error) {
	name, file, toFile := strings.Cut(spec, "=")
	i := slices.IndexFunc(formats, func(f report.Format[T]) bool { return f.Name == name })
	switch {
	case i < 0:
		return output[T]{}, usage.RejectUnknown("format", name, ListNames(formats))
	case file == "-": // standard output, as other programs have it
		file = ""
	case toFile && file == "":
		return output[T]{}, &usage.Error{Message: "-o " + spec + " names no file",
			Hint: "-o " + name + "=FILE, or -o " + name + " for standard output"}
	case toFile:
		screen = layout.Style{All: screen.All}
	}
	return output[T]{Format: formats[i], file: file, style: screen}, nil
}

// ParseAndWrite parses the outputs and writes, for commands with nothing to lose in between.
func ParseAndWrite[T any](ctx context.Context, out, errs io.Writer, formats []report.Format[T], specs []string, colour string, all bool, value T) error {
	o, err := Parse(formats, specs, colour, all, out, errs)
	if err != nil {
		return err
	}
	return o.Write(ctx, value)
}

// IsReadByMonitor reports whether a Nagios-like monitor reads standard output and the exit code.
func (o Set[T]) IsReadByMonitor() bool {
	return slices.ContainsFunc(o.list, func(one output[T]) bool { return one.Name == "nagios" && one.file == "" })
}

// HasJSON reports whether one of the formats is JSON.
func (o Set[T]) HasJSON() bool {
	return slices.ContainsFunc(o.list, func(one output[T]) bool { return one.Name == "json" })
}

// EditStyles changes how each output is styled.
func (o Set[T]) EditStyles(edit func(*layout.Style)) {
	for i := range o.list {
		edit(&o.list[i].style)
	}
}

// ChooseStyle decides colour, width and marks. Colour follows the first of these that applies: --color, NO_COLOR,
// CLICOLOR_FORCE and FORCE_COLOR, TERM=dumb, and whether out is a terminal.
func ChooseStyle(colour string, out io.Writer) (layout.Style, error) {
	width := terminal.Width(out)
	onTerminal := width > 0
	style := layout.Style{Colour: onTerminal && os.Getenv("TERM") != "dumb", ASCII: !isUnicodeLocale()}
	if forcesColour(os.Getenv("CLICOLOR_FORCE")) || forcesColour(os.Getenv("FORCE_COLOR")) {
		style.Colour = true
	}
	if os.Getenv("NO_COLOR") != "" {
		style.Colour = false
	}
	switch colour {
	case "auto":
	case "always", "never":
		style.Colour = colour == "always"
	default:
		return style, usage.RejectUnknown("choice for --color", colour, ColourWords)
	}
	if onTerminal {
		style.Width = width
	}
	return style, nil
}

func forcesColour(value string) bool { return value != "" && value != "0" }

// isUnicodeLocale reports whether the reader's locale supports UTF-8. It assumes so if there is no locale: containers and
// services have none, and their output is read elsewhere.
func isUnicodeLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			upper := strings.ToUpper(value)
			return strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8")
		}
	}
	return true
}
