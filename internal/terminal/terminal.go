// Package terminal writes what a person sees beside the result: a complaint with its hint, a line of progress, a line
// that says what the program waits for.
//
// A line of progress is shown only on a terminal, cut to its width, and is removed at the end. A complaint goes
// anywhere, and is folded for a terminal. Both may quote arguments and files, so they are redacted first.
//
// A writer that leads to a terminal without being one, such as a pipe to the process that has it, has a method
// TerminalWidth.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"cudacompat/internal/redact"
	"cudacompat/internal/report/layout"

	"golang.org/x/term"
)

// Width returns the width of the terminal that a writer leads to, or 0.
func Width(w io.Writer) int {
	switch to := w.(type) {
	case interface{ TerminalWidth() int }: // it leads to one
		return to.TerminalWidth()
	case *os.File:
		if term.IsTerminal(int(to.Fd())) {
			return screenWidth(to)
		}
	}
	return 0
}

// Complain writes one sentence and what to do. It redacts secrets and control bytes, because both may quote arguments
// and files.
func Complain(w io.Writer, message, hint string) {
	fmt.Fprintln(w, foldText(w, "cudacompat: "+redact.Line(message)))
	if hint != "" {
		fmt.Fprintln(w, foldText(w, "hint: "+redact.Line(hint)))
	}
}

// foldText wraps a text between words if it goes to a terminal.
func foldText(w io.Writer, text string) string {
	width := Width(w)
	if width == 0 {
		return text
	}
	return strings.Join(layout.Fold(text, width, width-2), "\n  ")
}

// screenWidth returns the width of a terminal in columns, at least 40.
func screenWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return max(width, 40)
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return max(width, 40)
	}
	return 80
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
