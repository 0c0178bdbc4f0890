package plaintext

import (
	"fmt"

	"cudacompat/internal/budget"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
)

// takeShown returns as much of a list as a page shows.
func takeShown[T any](list []T) []T {
	some, _ := budget.First(list)
	return some
}

// writeLeftOut says what a shortened report leaves out.
func writeLeftOut(p *layout.Page, r report.Report) {
	if more := r.DescribeLeftOut(); more != "" {
		p.WriteLine()
		p.WriteWrapped(4, more+": the time was up", layout.Paint(layout.Yellow, "! left out"), ": ")
	}
}

// writeRest says how many entries of a list the page does not show.
func writeRest(p *layout.Page, n int, what string) {
	if n > budget.Shown {
		p.WriteLine()
		p.WriteLine("  ", fmt.Sprintf("and %d more %s: -o json lists them", n-budget.Shown, what))
	}
}
