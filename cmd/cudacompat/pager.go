package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"cudacompat/report"
)

// show writes a page: as the Markdown that it is, or laid out where a terminal shows it.
func show(page []byte, style report.Style, out io.Writer) error {
	if style.Width > 0 {
		page = report.Page(page, style)
	}
	return scroll(page, style, out)
}

// scroll writes a text that may be longer than the screen, on a terminal through the reader's pager.
func scroll(text []byte, style report.Style, out io.Writer) error {
	if style.Width > 0 && paged(text, out) { // only a terminal has a width
		return nil
	}
	return written(out, text)
}

// paged reports whether a pager showed a text: PAGER, where it is not set less with git's options (leave at once
// what fits on the screen, pass colours on, leave the text on the screen).
func paged(text []byte, out io.Writer) bool {
	command, chosen := os.LookupEnv("PAGER")
	if !chosen {
		command = "less"
	}
	words := strings.Fields(command)
	terminal := os.Getenv("TERM")
	if len(words) == 0 || words[0] == "cat" || terminal == "" || terminal == "dumb" {
		return false
	}
	pager := exec.Command(words[0], words[1:]...)
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(string(text)), out, os.Stderr
	if _, set := os.LookupEnv("LESS"); !set {
		pager.Env = append(os.Environ(), "LESS=FRX")
	}
	// An interrupt is the pager's: ending before it would leave the terminal as the pager had set it.
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	if pager.Start() != nil {
		return false
	}
	_ = pager.Wait() // a reader who quits early has read enough
	return true
}
