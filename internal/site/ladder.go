package site

import (
	"fmt"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// ladder is a drawing: driver branches from left to right, a bar for each release from the first driver that runs it to
// the last.
type ladder struct {
	Width, Height, Top int
	GPU                string
	Steps              []ladderStep
	Bars               []ladderBar
}

// ladderStep is one driver branch.
type ladderStep struct {
	Branch  string
	X, W    int
	Middle  int
	Ended   bool
	Words   string // "end of life 2026-06"
	Shadow  int    // the height of its shade
	Release string
}

type ladderBar struct {
	Release, Words, Text string
	X, Y, W, Plain       int // Plain is where plain pip install begins; 0: nowhere
}

const (
	ladderLeft      = 70
	ladderStepWidth = 46
	ladderRow       = 22
)

// ladderBranches are those from the first family's floor on.
const ladderFirst = 450

// ladder draws the releases on a GPU that every branch drives.
func (b *builder) ladder(g grid) ladder {
	const gpu = "T4"
	column := 0
	for i, have := range g.GPUs {
		if have.Name == gpu {
			column = i
		}
	}
	l := ladder{Top: 40, GPU: gpu, Steps: b.ladderSteps()}
	for _, r := range g.Releases {
		if bar, ok := l.bar(r, column); ok {
			l.Bars = append(l.Bars, bar)
		}
	}
	l.Width, l.Height = l.end()+10, l.Top+len(l.Bars)*ladderRow+10
	for i := range l.Steps {
		l.Steps[i].Shadow = l.Height - 24
	}
	return l
}

// ladderSteps returns the driver branches from left to right.
func (b *builder) ladderSteps() []ladderStep {
	var steps []ladderStep
	for _, row := range tables.Rows[tables.Branch](b.Tables) {
		if row.Number() < ladderFirst {
			continue
		}
		s := ladderStep{Branch: row.Branch, X: ladderLeft + len(steps)*ladderStepWidth, W: ladderStepWidth, Words: "no end of life is published"}
		s.Middle = s.X + s.W/2
		if row.EndOfLife != "" {
			s.Ended, s.Words = row.EndOfLife <= b.Tables.Date(), "end of life "+row.EndOfLife
		}
		steps = append(steps, s)
	}
	return steps
}

// end returns where the last branch ends.
func (l *ladder) end() int { return ladderLeft + len(l.Steps)*ladderStepWidth }

// x returns where the branch of a driver begins.
func (l *ladder) x(driver string) int {
	n := version.ParseOrZero(driver)
	at := ladderLeft
	for _, s := range l.Steps {
		if branch := version.ParseOrZero(s.Branch); branch.Major() < n.Major() {
			at = s.X + s.W
		} else if branch.Major() == n.Major() {
			return s.X
		}
	}
	return at
}

// bar returns the next bar: one release on the GPU of a column. It returns false if no build of it runs there.
func (l *ladder) bar(r gridRelease, column int) (ladderBar, bool) {
	bar := ladderBar{Release: r.Release, Y: l.Top + len(l.Bars)*ladderRow}
	var words []string
	last := ladderLeft
	for _, build := range r.Cells[column].Builds {
		if !build.works() {
			continue
		}
		words = append(words, build.Variant+": driver "+build.Drivers.String())
		if from := l.x(build.Drivers[0].From); bar.X == 0 || from < bar.X {
			bar.X, bar.Text = from, build.number()
		}
		to := l.end()
		if before := build.Drivers[len(build.Drivers)-1].Before; before != "" {
			to = l.x(before)
		}
		last = max(last, to)
		if build.Variant == r.Cells[column].Default {
			bar.Plain = l.x(build.Drivers[0].From)
		}
	}
	bar.W, bar.Words = last-bar.X, strings.Join(words, "; ")
	return bar, bar.X != 0
}

// PlainWidth returns the width of the part of a bar that plain pip install runs on.
func (b ladderBar) PlainWidth() int { return b.X + b.W - b.Plain }

// TextY returns the base line of the bar's words.
func (b ladderBar) TextY() int { return b.Y + 14 }

// Label returns a bar in words.
func (b ladderBar) Label() string { return fmt.Sprintf("torch %s: %s", b.Release, b.Words) }
