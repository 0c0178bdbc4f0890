package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal how much of a wheel has come; elsewhere one line a wheel that took anything.
type progress struct {
	out      io.Writer
	terminal bool
	what     string
	started  time.Time
	shown    time.Time
	bytes    int64
}

func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (p *progress) begin(what string) {
	p.what, p.started, p.bytes = what, time.Now(), 0
}

func (p *progress) seen(_ string, n int64) {
	p.bytes += n
	if now := time.Now(); p.terminal && now.Sub(p.shown) > 200*time.Millisecond {
		p.shown = now
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.line())
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	if p.bytes > 0 {
		fmt.Fprintln(p.out, p.line())
	}
}

func (p *progress) line() string {
	return fmt.Sprintf("%s: %d MB in %s", p.what, p.bytes>>20, time.Since(p.started).Round(time.Second))
}
