package report

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix"
)

// linkMarks stand before what was seen, what is broken and what was not seen; a link that is assumed has the mark of one
// that was seen, and says so.
var linkMarks = map[matrix.LinkState]paintedText{
	matrix.Held: {green, "✓"}, matrix.Assumed: {green, "✓"},
	matrix.Unseen: {yellow, "?"}, matrix.LinkBroken: {red, "×"},
}

// answerMarks stand before a build.
var answerMarks = map[matrix.Answer]paintedText{
	matrix.Works: {green, "✓"}, matrix.WorksMinorVersion: {green, "✓"}, matrix.WorksForward: {green, "✓"},
	matrix.WorksCPUOnly: {yellow, "·"}, matrix.Broken: {red, "×"}, matrix.Unknown: {yellow, "?"},
}

// machineRows are the machine's links, one row each: the GPUs, then module, device nodes and libcuda, and the driver's
// answer where that is not well. What a target or a file leaves to be assumed of the driver is one row.
func machineRows(r Report) []row {
	rows := gpuRows(r)
	if drivers := driverRow(r); assumedDriver(r) {
		return slices.Concat(imageRow(r), drivers, rows)
	}
	for _, name := range []matrix.LinkName{matrix.LinkModule, matrix.LinkDevices, matrix.LinkLibcuda, matrix.LinkAnswers} {
		rows = append(rows, linkRows(r, name)...)
	}
	return countEqual(rows)
}

// imageRow is the image that was read, where others stood beside it.
func imageRow(r Report) []row {
	i := r.Facts.Image
	if i == nil || len(i.Others) == 0 {
		return nil
	}
	return []row{{name: "image", details: i.Platform, from: "there is also one for " + strings.Join(i.Others, ", ") + ": --platform"}}
}

// assumedDriver reports whether of every machine that was judged both halves of the driver are only assumed, or nothing
// is known of them.
func assumedDriver(r Report) bool {
	for _, j := range r.Judged {
		for _, l := range j.Links {
			driver := l.Link == matrix.LinkModule || l.Link == matrix.LinkLibcuda
			if driver && l.State != matrix.Assumed {
				return false
			}
		}
	}
	return true
}

// linkRows are a link's rows: one for all kinds of GPU and all targets that have the same.
func linkRows(r Report, name matrix.LinkName) []row {
	var rows []row
	for _, judged := range r.Judged {
		for _, l := range judged.Links {
			// What keeps the driver from answering has a row of its own.
			if name == matrix.LinkAnswers && l.State == matrix.Unseen && linkBroken(r, judged) {
				continue
			}
			if l.Link != name || l.State == matrix.Assumed && name != matrix.LinkModule && name != matrix.LinkLibcuda ||
				name == matrix.LinkAnswers && l.State == matrix.Held {
				continue
			}
			if name == matrix.LinkDevices && ofGPU(judged, l.GPU) == linkMarks[matrix.LinkBroken] { // of a lost GPU they do not matter
				continue
			}
			row := row{mark: linkMarks[l.State], name: string(name), details: l.Value, from: l.From}
			if l.From == "/dev" { // the names say it
				row.from = ""
			}
			switch {
			case l.State == matrix.LinkBroken:
				row.answer = paintedText{red, strings.Join(l.Because, ", ")}
			case l.State == matrix.Unseen && l.Value == matrix.Withheld:
				row.details = "not given"
			case l.State == matrix.Unseen:
				row.details, row.answer = "", paintedText{yellow, "unknown"}
			case l.State == matrix.Assumed:
				row.from = "assumed: " + l.From
			}
			if row.answer.text != "" && len(r.Judged) > 1 {
				row.where = on([]string{judged.Target})
			}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// linkBroken reports whether a link of a machine, or of a build on it, is broken.
func linkBroken(r Report, judged matrix.Judged) bool {
	return slices.ContainsFunc(judged.Links, func(l matrix.Link) bool { return l.State == matrix.LinkBroken }) ||
		slices.ContainsFunc(r.Answers, func(a matrix.BuildAnswer) bool {
			return a.Target == judged.Target && a.Answer == matrix.Broken
		})
}

// ofGPU is the state of the link gpu for a label.
func ofGPU(judged matrix.Judged, label string) paintedText {
	for _, l := range judged.Links {
		if l.Link == matrix.LinkGPU && l.GPU == label {
			return linkMarks[l.State]
		}
	}
	return paintedText{}
}

// ownLinks are a build's own links in one line, "driver × python ✓ libraries ✓ code ✓"; empty where each is well, so that
// what is wrong stands in the machine's rows.
func ownLinks(a matrix.BuildAnswer) string {
	var words []string
	well := true
	for _, l := range a.Links {
		words = append(words, fmt.Sprintf("%s %s", l.Link, linkMarks[l.State].text))
		well = well && (l.State == matrix.Held || l.State == matrix.Assumed)
	}
	if well {
		return ""
	}
	return strings.Join(words, " ")
}
