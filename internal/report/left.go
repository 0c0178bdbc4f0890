package report

import (
	"fmt"

	"cudacompat/internal/budget"
)

// topOf returns as much of a list as a page shows.
func topOf[T any](list []T) []T {
	some, _ := budget.First(list)
	return some
}

// writeLeftOut says what a shortened report leaves out.
func (p *page) writeLeftOut(r Report) {
	if more := r.moreText(); more != "" {
		p.line()
		p.wrap(4, more+": the time was up", paintedText{yellow, "! left out"}, ": ")
	}
}

// writeRest says how many entries of a list the page does not show.
func (p *page) writeRest(n int, what string) {
	if n > budget.Shown {
		p.line()
		p.line("  ", fmt.Sprintf("and %d more %s: -o json lists them", n-budget.Shown, what))
	}
}
