package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cudacompat/internal/redact"
)

// Progress appears after a second and changes twice a second.
const (
	sayFirst = time.Second
	sayAgain = 500 * time.Millisecond
)

// Progress is one line on a terminal that shows how far a long read has come, and disappears at its end. It prints
// nothing elsewhere.
type Progress struct {
	out   io.Writer // nil where it is no terminal
	width int
	began time.Time
	mu    sync.Mutex
	said  time.Time
	shown bool
	ended bool
}

// NewProgress returns a line that is shown if the writer leads to a terminal.
func NewProgress(out io.Writer) *Progress {
	p := &Progress{began: time.Now()}
	if width := Width(out); width > 0 && os.Getenv("TERM") != "dumb" {
		p.out, p.width = out, width
	}
	return p
}

// IsShown reports whether a terminal shows the line.
func (p *Progress) IsShown() bool { return p.out != nil }

// Tell writes the line that says returns, if it is time.
func (p *Progress) Tell(says func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.out == nil || p.ended || now.Sub(p.began) < sayFirst || now.Sub(p.said) < sayAgain {
		return
	}
	p.said, p.shown = now, true
	fmt.Fprintf(p.out, "\r\x1b[K%s", cutLine(redact.Line(says()), p.width-1))
}

// End removes the line.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// cutLine cuts a line to the width, because a wrapped line could not be removed.
func cutLine(line string, width int) string {
	if text := []rune(line); len(text) > width {
		return string(text[:max(width, 0)])
	}
	return line
}

// Watch shows which source of facts is being read, until all are.
func (p *Progress) Watch(machine string, reading <-chan string, done <-chan struct{}) {
	ticks := time.NewTicker(sayAgain)
	defer ticks.Stop()
	source := ""
	for {
		select {
		case <-done:
			return
		case source = <-reading:
		case <-ticks.C:
			p.Tell(func() string {
				return fmt.Sprintf("reading %s for %d s: %s", machine, int(time.Since(p.began).Seconds()), source)
			})
		}
	}
}
