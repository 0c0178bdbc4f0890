package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cudacompat/internal/redact"
	"cudacompat/probe"
)

// Progress appears after a second and changes twice a second.
const (
	sayFirst = time.Second
	sayAgain = 500 * time.Millisecond
)

// progress is one line on a terminal that shows how far a long read has come, and disappears at its end. It prints
// nothing elsewhere.
type progress struct {
	out   io.Writer // nil where it is no terminal
	width int
	began time.Time
	mu    sync.Mutex
	said  time.Time
	shown bool
	ended bool
}

func newProgress(out io.Writer) *progress {
	p := &progress{began: time.Now()}
	if width := terminalWidth(out); width > 0 && os.Getenv("TERM") != "dumb" {
		p.out, p.width = out, width
	}
	return p
}

// tell writes the line that says returns, if it is time.
func (p *progress) tell(says func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.out == nil || p.ended || now.Sub(p.began) < sayFirst || now.Sub(p.said) < sayAgain {
		return
	}
	p.said, p.shown = now, true
	fmt.Fprintf(p.out, "\r\x1b[K%s", short(redact.Line(says()), p.width-1))
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// short cuts a line to the width, because a wrapped line could not be removed.
func short(line string, width int) string {
	if text := []rune(line); len(text) > width {
		return string(text[:max(width, 0)])
	}
	return line
}

// readTelling reads the machine and shows on a terminal what takes long.
func (f *lookFlags) readTelling(ctx context.Context, h *probe.Host, says io.Writer) probe.Facts {
	p := newProgress(says)
	defer p.end()
	opt := f.options()
	if p.out == nil {
		return probe.Run(ctx, h, opt)
	}
	reading := make(chan string, 100)
	opt.Tell = func(source string) {
		select {
		case reading <- source:
		default:
		}
	}
	done := make(chan struct{})
	defer close(done)
	go p.watch(f.subjectInWords(), reading, done)
	return probe.Run(ctx, h, opt)
}

// watch shows which source of facts is being read, until all are.
func (p *progress) watch(machine string, reading <-chan string, done <-chan struct{}) {
	ticks := time.NewTicker(sayAgain)
	defer ticks.Stop()
	source := ""
	for {
		select {
		case <-done:
			return
		case source = <-reading:
		case <-ticks.C:
			p.tell(func() string {
				return fmt.Sprintf("reading %s for %d s: %s", machine, int(time.Since(p.began).Seconds()), source)
			})
		}
	}
}

// subjectInWords returns what is being read, for a progress line.
func (f *lookFlags) subjectInWords() string {
	if f.root != "" {
		return f.root
	}
	return "this machine"
}
