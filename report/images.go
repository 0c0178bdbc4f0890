package report

import (
	"fmt"
	"io"
	"slices"

	"cudacompat/matrix"
)

// ImageRow is what is said of one image on one machine.
type ImageRow struct {
	Image, Machine string
	Report
}

// sentenceRoom is how wide the sentences of a table are at least; narrower ones go below what they are about.
const sentenceRoom = 40

// Images writes a table of several images on machines that have one driver (empty where none is named), in the order of
// the rows.
func Images(w io.Writer, rows []ImageRow, driver string, s Style) error {
	p := &page{style: s}
	fit, image, machine := 0, 0, 0
	for _, row := range rows {
		image, machine = max(image, columns(p.safe(row.Image))), max(machine, columns(p.safe(row.Machine)))
		if row.Outcome == matrix.Compatible {
			fit++
		}
	}
	if driver != "" {
		driver = " with driver " + driver
	}
	p.wrap(0, fmt.Sprintf("%d of %d work%s", fit, len(rows), driver))
	p.line()
	for _, row := range rows {
		lead := pad(p.safe(row.Image), image) + cellGap + pad(p.safe(row.Machine), machine) + cellGap
		r := withoutTargets(row.Report)
		findings := together(r.Findings, p.brief)
		if hang := columns(lead); s.Width == 0 || s.Width-hang >= sentenceRoom {
			p.wrap(hang, outcomeText(r, findings), lead, outcomeWord(r))
			continue
		}
		p.line(p.safe(row.Image), cellGap, row.Machine)
		p.wrap(4, outcomeText(r, findings), "    ", outcomeWord(r))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// withoutTargets is a report that does not say again for which machine it is.
func withoutTargets(r Report) Report {
	r.Targets = nil
	r.Answers, r.Findings, r.Unknown = slices.Clone(r.Answers), slices.Clone(r.Findings), slices.Clone(r.Unknown)
	for i := range r.Answers {
		r.Answers[i].Target = ""
	}
	for i := range r.Findings {
		r.Findings[i].Target = ""
	}
	for i := range r.Unknown {
		r.Unknown[i].Target = ""
	}
	return r
}
