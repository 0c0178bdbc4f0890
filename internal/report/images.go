package report

import (
	"fmt"
	"io"
	"slices"

	"cudacompat/matrix/verdict"
)

// ImageRow is the result for one image on one machine, or without a machine.
type ImageRow struct {
	Image, Machine string
	Report
}

// sentenceRoom is the minimum width of the sentences in a table. Narrower ones move to the next line.
const sentenceRoom = 40

// Images writes a table of images on machines with one driver ("" if none is named), in the order of the rows. Machines
// with the same result for an image share a line.
func Images(w io.Writer, rows []ImageRow, driver string, s Style) error {
	p := &page{style: s}
	p.wrap(0, howManyWork(rows, driver))
	p.line()
	lines := imageLines(rows, p)
	width := 0
	for _, l := range lines {
		width = max(width, columns(p.safe(l.image)))
	}
	for _, l := range lines {
		lead := pad(p.safe(l.image), width) + cellGap
		if hang := columns(lead); s.Width == 0 || s.Width-hang >= sentenceRoom {
			p.wrap(hang, l.text, lead, l.word)
			continue
		}
		p.line(p.safe(l.image))
		p.wrap(4, l.text, "    ", l.word)
	}
	if i := slices.IndexFunc(rows, func(r ImageRow) bool { return r.Outcome == verdict.Inconclusive && len(r.Answers) > 0 }); i >= 0 {
		p.try(rows[i].Report)
	}
	if i := slices.IndexFunc(rows, func(r ImageRow) bool { return len(r.Configuration.Notes()) > 0 }); i >= 0 {
		p.writeConfiguration(rows[i].Configuration)
	}
	_, err := w.Write(p.Bytes())
	return err
}

// howManyWork says how many images work, and where.
func howManyWork(rows []ImageRow, driver string) string {
	fits := map[string]bool{}
	var machines []string
	for _, row := range rows {
		before, met := fits[row.Image]
		fits[row.Image] = row.Outcome == verdict.Compatible && (before || !met)
		machines = add(machines, row.Machine)
	}
	fit := 0
	for _, works := range fits {
		if works {
			fit++
		}
	}
	where := on(machines)
	if len(machines) > 1 {
		where = fmt.Sprintf(" on all %d machines", len(machines))
	}
	if driver != "" {
		where += " with driver " + driver
	}
	return fmt.Sprintf("%d of %s work%s", fit, plural(len(fits), "image"), where)
}

// imageLine is the result for one image on some machines.
type imageLine struct {
	image string
	word  paintedText
	text  string
}

// imageLines groups rows with the same result. It names the machines of a group if the image's other machines differ.
func imageLines(rows []ImageRow, p *page) []imageLine {
	var lines []imageLine
	machines := map[imageLine][]string{}
	of := map[string]int{} // how many rows an image has
	for _, row := range rows {
		l := imageLine{row.Image, outcomeWord(row.Report), imageText(row.Report, p)}
		if machines[l] == nil {
			lines = append(lines, l)
		}
		machines[l] = append(machines[l], row.Machine)
		of[row.Image]++
	}
	for i, l := range lines {
		if names := machines[l]; len(names) < of[l.image] {
			lines[i].text = " on " + few(names, len(names)) + l.text
		}
	}
	return lines
}

// imageText returns the text after the outcome of an image on a machine.
func imageText(r Report, p *page) string {
	if r.Facts.Image == nil && len(r.Facts.Unread) > 0 {
		return ": not read: " + r.Facts.Unread[0].Reason
	}
	r = withoutTargets(r)
	return outcomeText(r, joinFindings(r.Findings, briefNotes(p.style.All)))
}

// withoutTargets removes the names of the machine from a report.
func withoutTargets(r Report) Report {
	r.Targets = nil
	r.Answers, r.Findings, r.Unknown = slices.Clone(r.Answers), slices.Clone(r.Findings), slices.Clone(r.Unknown)
	r.Judged = slices.Clone(r.Judged)
	for i := range r.Judged {
		r.Judged[i].Target = ""
	}
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
