package plaintext

import (
	"fmt"
	"io"
	"slices"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// ImageRow is the result for one image on one machine, or without a machine.
type ImageRow struct {
	Image, Machine string
	report.Report
}

// sentenceRoom is the minimum width of the sentences in a table. Narrower ones move to the next line.
const sentenceRoom = 40

// WriteImages writes a table of images on machines with one driver ("" if none is named), in the order of the rows.
// Machines with the same result for an image share a line.
func WriteImages(w io.Writer, rows []ImageRow, driver string, s layout.Style) error {
	p := &layout.Page{Style: s}
	p.WriteWrapped(0, howManyWork(rows, driver))
	p.WriteLine()
	lines := imageLines(rows, p)
	width := 0
	for _, l := range lines {
		width = max(width, layout.CountColumns(p.MakeShowable(l.image)))
	}
	for _, l := range lines {
		lead := layout.PadRight(p.MakeShowable(l.image), width) + layout.CellGap
		if hang := layout.CountColumns(lead); s.Width == 0 || s.Width-hang >= sentenceRoom {
			p.WriteWrapped(hang, l.text, lead, l.word)
			continue
		}
		p.WriteLine(p.MakeShowable(l.image))
		p.WriteWrapped(4, l.text, "    ", l.word)
	}
	if i := slices.IndexFunc(rows, func(r ImageRow) bool { return r.Outcome == verdict.Inconclusive && len(r.Answers) > 0 }); i >= 0 {
		writeHint(p, rows[i].Report)
	}
	if i := slices.IndexFunc(rows, func(r ImageRow) bool { return len(r.Configuration.Notes()) > 0 }); i >= 0 {
		writeConfiguration(p, rows[i].Configuration)
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
		machines = layout.AppendUnique(machines, row.Machine)
	}
	fit := 0
	for _, works := range fits {
		if works {
			fit++
		}
	}
	where := layout.NameTargets(machines)
	if len(machines) > 1 {
		where = fmt.Sprintf(" on all %d machines", len(machines))
	}
	if driver != "" {
		where += " with driver " + driver
	}
	return fmt.Sprintf("%d of %s work%s", fit, layout.CountNoun(len(fits), "image"), where)
}

// imageLine is the result for one image on some machines.
type imageLine struct {
	image string
	word  layout.Painted
	text  string
}

// imageLines groups rows with the same result. It names the machines of a group if the image's other machines differ.
func imageLines(rows []ImageRow, p *layout.Page) []imageLine {
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
			lines[i].text = " on " + layout.ListFirst(names, len(names)) + l.text
		}
	}
	return lines
}

// imageText returns the text after the outcome of an image on a machine.
func imageText(r report.Report, p *layout.Page) string {
	if r.Facts.Image == nil && len(r.Facts.Unread) > 0 {
		return ": not read: " + r.Facts.Unread[0].Reason
	}
	r = removeTargets(r)
	return outcomeText(r, report.JoinFindings(r.Findings, briefNotes(p.Style.All)))
}

// removeTargets removes the names of the machine from a report.
func removeTargets(r report.Report) report.Report {
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
