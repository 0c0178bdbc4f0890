package main

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

// colourWords are the values of --color.
var colourWords = []string{"auto", "always", "never"}

// output is one -o: a format and its destination.
type output[T any] struct {
	report.Format[T]
	file  string // empty: standard output
	style layout.Style
}

// outputs is all -o options of a command.
type outputs[T any] struct {
	list     []output[T]
	out, err io.Writer
}

// namesOf lists the names of formats.
func namesOf[T any](formats []report.Format[T]) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// parseOutputs parses every -o FORMAT[=FILE]. Without any, it returns the first format on the screen.
func parseOutputs[T any](formats []report.Format[T], specs []string, colour string, all bool, s streams) (outputs[T],
	error) {
	if len(specs) == 0 {
		specs = []string{formats[0].Name}
	}
	result := outputs[T]{out: s.out, err: s.err}
	screen, err := styleFor(colour, s.out)
	if err != nil {
		return result, err
	}
	screen.All = all
	for _, spec := range specs {
		o, err := parseOutput(formats, spec, screen)
		if err != nil {
			return result, err
		}
		if o.file != "" && slices.ContainsFunc(result.list, func(other output[T]) bool {
			return other.file != "" && oneFileOf(other.file, o.file)
		}) {
			return result, &usage.Error{Message: fmt.Sprintf("two formats would be written to %q", o.file),
				Hint: "give each its own file"}
		}
		result.list = append(result.list, o)
	}
	return result, nil
}

// oneFileOf reports whether two names lead to one file, such as a and ./a, or a link to it. /dev/stdout and /dev/stderr
// may be one terminal, which is allowed.
func oneFileOf(a, b string) bool {
	if info, err := os.Stat(a); a == b || err == nil && !info.Mode().IsRegular() {
		return a == b
	}
	first, err := followLinks(a)
	second, other := followLinks(b)
	return err == nil && other == nil && first == second
}

// parseOutput parses one -o. Output to a file has neither colour nor width.
func parseOutput[T any](formats []report.Format[T], spec string, screen layout.Style) (output[T], error) {
	name, file, toFile := strings.Cut(spec, "=")
	i := slices.IndexFunc(formats, func(f report.Format[T]) bool { return f.Name == name })
	switch {
	case i < 0:
		return output[T]{}, usage.RejectUnknown("format", name, namesOf(formats))
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

// emit parses the outputs and writes, for commands with nothing to lose in between.
func emit[T any](ctx context.Context, s streams, formats []report.Format[T], specs []string, colour string, all bool, value T) error {
	o, err := parseOutputs(formats, specs, colour, all, s)
	if err != nil {
		return err
	}
	return o.write(ctx, value)
}

// readByMonitor reports whether a Nagios-like monitor reads standard output and the exit code.
func (o outputs[T]) readByMonitor() bool {
	return slices.ContainsFunc(o.list, func(one output[T]) bool { return one.Name == "nagios" && one.file == "" })
}

// asJSON reports whether one of the formats is JSON.
func (o outputs[T]) asJSON() bool {
	return slices.ContainsFunc(o.list, func(one output[T]) bool { return one.Name == "json" })
}

// styleFor decides colour, width and marks. Colour follows the first of these that applies: --color, NO_COLOR,
// CLICOLOR_FORCE and FORCE_COLOR, TERM=dumb, and whether out is a terminal.
func styleFor(colour string, out io.Writer) (layout.Style, error) {
	width := terminal.Width(out)
	onTerminal := width > 0
	style := layout.Style{Colour: onTerminal && os.Getenv("TERM") != "dumb", ASCII: !unicodeLocale()}
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
		return style, usage.RejectUnknown("choice for --color", colour, colourWords)
	}
	if onTerminal {
		style.Width = width
	}
	return style, nil
}

func forcesColour(value string) bool { return value != "" && value != "0" }

// unicodeLocale reports whether the reader's locale supports UTF-8. It assumes so if there is no locale: containers and
// services have none, and their output is read elsewhere.
func unicodeLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			upper := strings.ToUpper(value)
			return strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8")
		}
	}
	return true
}
