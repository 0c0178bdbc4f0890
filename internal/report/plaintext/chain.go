package plaintext

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// linkMarks are the marks for links that were seen, are broken, or were not seen. An assumed link has the mark of a
// seen one, and its text says so.
var linkMarks = map[verdict.LinkState]layout.Painted{
	verdict.Held: layout.Paint(layout.Green, "✓"), verdict.Assumed: layout.Paint(layout.Green, "✓"),
	verdict.Unseen: layout.Paint(layout.Yellow, "?"), verdict.LinkBroken: layout.Paint(layout.Red, "×"),
}

// answerMarks are the marks before a build.
var answerMarks = map[verdict.Answer]layout.Painted{
	verdict.Works: layout.Paint(layout.Green, "✓"), verdict.WorksMinorVersion: layout.Paint(layout.Green, "✓"), verdict.WorksForward: layout.Paint(layout.Green, "✓"),
	verdict.WorksCPUOnly: layout.Paint(layout.Yellow, "·"), verdict.Broken: layout.Paint(layout.Red, "×"), verdict.Unknown: layout.Paint(layout.Yellow, "?"),
}

// machineRows returns a row for each of the machine's links: the GPUs, then module, device nodes and libcuda, and the
// driver's answer if it is not good. If the driver is only assumed, it gets a single row.
func machineRows(r report.Report) []row {
	rows := gpuRows(r)
	if drivers := driverRows(r); assumedDriver(r) {
		return slices.Concat(imageRow(r), drivers, rows)
	}
	for _, name := range []verdict.LinkName{verdict.LinkModule, verdict.LinkDevices, verdict.LinkLibcuda, verdict.LinkAnswers} {
		rows = append(rows, linkRows(r, name)...)
	}
	return countEqual(rows)
}

// imageRow returns the row of the image that was read, if there were several.
func imageRow(r report.Report) []row {
	i := r.Facts.Image
	if i == nil || len(i.Others) == 0 {
		return nil
	}
	return []row{{name: "image", details: i.Platform, from: "there is also one for " + strings.Join(i.Others, ", ") + ": --platform"}}
}

// assumedDriver reports whether, for every judged machine, both halves of the driver are only assumed or unknown.
func assumedDriver(r report.Report) bool {
	for _, j := range r.Judged {
		for _, l := range j.Links {
			driver := l.Link == verdict.LinkModule || l.Link == verdict.LinkLibcuda
			if driver && l.State != verdict.Assumed {
				return false
			}
		}
	}
	return true
}

// linkRows returns the rows of a link: one for all kinds of GPU and targets with the same state.
func linkRows(r report.Report, name verdict.LinkName) []row {
	var rows []row
	for _, judged := range r.Judged {
		for _, l := range judged.Links {
			// The reason why the driver does not answer has a row of its own.
			if name == verdict.LinkAnswers && l.State == verdict.Unseen && linkBroken(r, judged) {
				continue
			}
			if l.Link != name || l.State == verdict.Assumed && name != verdict.LinkModule && name != verdict.LinkLibcuda ||
				name == verdict.LinkAnswers && l.State == verdict.Held {
				continue
			}
			if name == verdict.LinkDevices && findGPUMark(judged, l.GPU) == linkMarks[verdict.LinkBroken] { // of a lost GPU they do not matter
				continue
			}
			row := row{mark: linkMarks[l.State], name: string(name), details: l.Value, from: l.From}
			if l.From == "/dev" { // the names say it
				row.from = ""
			}
			switch {
			case l.State == verdict.LinkBroken:
				row.answer = layout.Paint(layout.Red, strings.Join(l.Because, ", "))
			case l.State == verdict.Unseen && l.Value == verdict.Withheld:
				row.details = "not given"
			case l.State == verdict.Unseen:
				row.details, row.answer = "", layout.Paint(layout.Yellow, "unknown")
			case l.State == verdict.Assumed:
				row.from = "assumed: " + l.From
			}
			if row.answer.Text != "" && len(r.Judged) > 1 {
				row.where = layout.NameTargets([]string{judged.Target})
			}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// linkBroken reports whether a link of a machine, or of a build on it, is broken.
func linkBroken(r report.Report, judged verdict.Judged) bool {
	return slices.ContainsFunc(judged.Links, func(l verdict.Link) bool { return l.State == verdict.LinkBroken }) ||
		slices.ContainsFunc(r.Answers, func(a verdict.BuildAnswer) bool {
			return a.Target == judged.Target && a.Answer == verdict.Broken
		})
}

// findGPUMark returns the state of the link gpu for a GPU's label.
func findGPUMark(judged verdict.Judged, label string) layout.Painted {
	for _, l := range judged.Links {
		if l.Link == verdict.LinkGPU && l.GPU == label {
			return linkMarks[l.State]
		}
	}
	return layout.Painted{}
}

// ownLinks formats a build's own links, "driver × python ✓ libraries ✓ code ✓". It returns "" if all are good, because
// the machine's rows then show the fault.
func ownLinks(a verdict.BuildAnswer) string {
	var words []string
	well := true
	for _, l := range a.Links {
		words = append(words, fmt.Sprintf("%s %s", l.Link, linkMarks[l.State].Text))
		well = well && (l.State == verdict.Held || l.State == verdict.Assumed)
	}
	if well {
		return ""
	}
	return strings.Join(words, " ")
}
