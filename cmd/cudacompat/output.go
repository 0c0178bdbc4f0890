package main

import (
	"io"
	"os"
	"strconv"
	"strings"

	"cudacompat/report"

	"golang.org/x/term"
)

// output is one -o: a format and where it goes.
type output struct {
	write func(io.Writer, report.Report, report.Style) error
	file  string // empty: standard output
	style report.Style
}

type outputs struct {
	list []output
	out  io.Writer
}

func formatNames() []string {
	var names []string
	for _, f := range report.Formats {
		names = append(names, f.Name)
	}
	return names
}

// parseOutputs reads every -o FORMAT[=FILE]; none is text on the screen.
func parseOutputs(specs []string, colour string, all bool, s streams) (outputs, error) {
	if len(specs) == 0 {
		specs = []string{"text"}
	}
	screen, err := styleFor(colour, s.out)
	if err != nil {
		return outputs{}, err
	}
	result := outputs{out: s.out}
	for _, spec := range specs {
		name, file, _ := strings.Cut(spec, "=")
		o := output{file: file, style: report.Style{All: all}}
		if file == "" {
			o.style = screen
			o.style.All = all
		}
		for _, f := range report.Formats {
			if f.Name == name {
				o.write = f.Write
			}
		}
		if o.write == nil {
			return outputs{}, misspelt("format", name, formatNames())
		}
		result.list = append(result.list, o)
	}
	return result, nil
}

func (o outputs) write(r report.Report) error {
	for _, one := range o.list {
		write := func(w io.Writer) error { return one.write(w, r, one.style) }
		var err error
		if one.file == "" {
			err = write(o.out)
		} else {
			err = atomically(one.file, write)
		}
		if err != nil {
			return &usageError{message: "cannot write the report: " + err.Error()}
		}
	}
	return nil
}

// styleFor decides colour, width and marks, in this order: --color, NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR, a dumb
// terminal, a terminal at all.
func styleFor(colour string, out io.Writer) (report.Style, error) {
	file, isFile := out.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd()))
	style := report.Style{Colour: terminal && os.Getenv("TERM") != "dumb", ASCII: !unicodeLocale()}
	if forced(os.Getenv("CLICOLOR_FORCE")) || forced(os.Getenv("FORCE_COLOR")) {
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
		return style, misspelt("choice for --color", colour, []string{"auto", "always", "never"})
	}
	if terminal {
		style.Width = screenWidth(file)
	}
	return style, nil
}

func forced(value string) bool { return value != "" && value != "0" }

func screenWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return max(width, 40)
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return max(width, 40)
	}
	return 80
}

// unicodeLocale says that the terminal takes UTF-8; without a locale at all it is assumed, as in containers.
func unicodeLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			upper := strings.ToUpper(value)
			return strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8") || value == "C" || value == "POSIX"
		}
	}
	return true
}
