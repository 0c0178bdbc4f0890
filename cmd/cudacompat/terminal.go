package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminalPipe is a pipe to the process that has the terminal.
type terminalPipe struct {
	*os.File
	width int // of the terminal
}

// terminalWidth returns the width of the terminal that a writer leads to, or 0.
func terminalWidth(w io.Writer) int {
	switch to := w.(type) {
	case *remembering:
		return terminalWidth(to.to)
	case terminalPipe:
		return to.width
	case *os.File:
		if term.IsTerminal(int(to.Fd())) {
			return screenWidth(to)
		}
	}
	return 0
}
