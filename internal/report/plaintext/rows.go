package plaintext

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

func listRows(p *layout.Page, r report.Report) []row {
	rows := slices.Concat(machineRows(r), listToolkits(p, r.Facts.Toolkits))
	if python := r.FindAskedValue(func(t report.Target) string { return t.Python }); python != "" {
		rows = append(rows, row{name: "python", details: python, from: "--python"})
	}
	builds := listBuilds(p, r)
	for i := range builds {
		builds[i].build = true
	}
	return append(rows, builds...)
}

// driverRows returns the drivers that the builds were judged with: one, unless several machines are judged.
func driverRows(r report.Report) []row {
	var rows []row
	for _, d := range r.Judged {
		details := d.Driver
		if d.CUDA != "" {
			details = layout.JoinNonEmpty(", ", d.Driver, "CUDA "+d.CUDA)
		}
		if details == "" {
			continue
		}
		if d.State != "" {
			details += " (" + d.State + ")"
		}
		own := row{name: "driver", details: details, from: cmp.Or(d.From, r.Facts.Driver.CUDAFrom)}
		if !slices.Contains(rows, own) {
			rows = append(rows, own)
		}
	}
	return rows
}

// gpuRows returns the GPUs of each judged machine. Machines with the same GPUs from the same source share rows.
func gpuRows(r report.Report) []row {
	var rows []row
	for _, judged := range r.Judged {
		var own []row
		for _, g := range judged.Devices {
			mark := findGPUMark(judged, g.Label)
			if g.Hidden != "" {
				mark = layout.Paint(layout.Yellow, "·")
			}
			own = append(own, row{mark: mark, name: "GPU", details: strings.TrimPrefix(g.Label, "GPU "),
				from: layout.JoinNonEmpty(", ", g.From, g.Hidden)})
		}
		for _, row := range countEqual(own) {
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// countEqual joins equal rows, "8 × NVIDIA H100 80GB HBM3 (9.0)".
func countEqual(rows []row) []row {
	var list []row
	count := map[row]int{}
	for _, row := range rows {
		if count[row]++; count[row] == 1 {
			list = append(list, row)
		}
	}
	for i, row := range list {
		if n := count[row]; n > 1 {
			list[i].details = fmt.Sprintf("%d × %s", n, row.details)
		}
	}
	return list
}

// listToolkits writes a row for each toolkit with --all, otherwise one for all of them, because they only matter for
// compiling.
func listToolkits(p *layout.Page, toolkits []facts.Toolkit) []row {
	var rows []row
	for _, t := range toolkits {
		rows = append(rows, row{name: "toolkit", details: "CUDA " + t.Version, from: cmp.Or(t.Path, t.From)})
	}
	if p.Style.All || len(rows) < 2 {
		return rows
	}
	var versions []string
	for _, t := range toolkits {
		versions = append(versions, t.Version)
	}
	return []row{{name: "toolkit", details: "CUDA " + layout.ListFirst(versions, 4), from: rows[0].from + " and others"}}
}

// notedBuilds is how many builds that do not count are shown without --all.
const notedBuilds = 5

func listBuilds(p *layout.Page, r report.Report) []row {
	var rows []row
	noted, hidden := 0, 0
	known := subjects(r)
	for _, e := range slices.Concat(r.Facts.Environments, r.Facts.Programs) {
		first := len(rows)
		for _, b := range e.Builds {
			answers := known.answers[matrix.Subject(&b, &e)]
			// A program would not choose this backend here, or another package of the file determines this release.
			if len(answers) == 0 && (e.Kind == "program" || b.Version == "" && b.Specifier != "") {
				continue
			}
			if len(answers) > 0 && !answers[0].Counts {
				if noted++; noted > notedBuilds && !p.Style.All {
					hidden++
					continue
				}
			}
			rows = append(rows, rowsOf(b, e, answers, r)...)
		}
		for _, w := range e.Requested {
			rows = append(rows, wantedRows(w, e, known, r)...)
		}
		if len(rows) > first {
			rows[first].from = layout.JoinNonEmpty(", ", rows[first].from, e.Found)
		}
	}
	if hidden > 0 {
		rows = append(rows, row{name: "...", details: layout.CountNoun(hidden, "more build"), from: "other environments (--all)"})
	}
	return rows
}

// wantedRows returns the rows of a requested package that was judged by its name or compared with the framework beside
// it.
func wantedRows(w facts.Requested, e facts.Environment, known bySubject, r report.Report) []row {
	b := facts.Build{Name: w.Name, Version: w.Version, Specifier: w.Specifier, From: w.From}
	subject := matrix.Subject(&b, &e)
	answers := known.answers[subject]
	if len(answers) == 0 {
		answers = known.failed[subject]
	}
	if len(answers) == 0 && known.fits[subject] {
		return []row{{name: w.Name, details: w.Version, from: cmp.Or(e.Path, w.From), answer: layout.Paint(layout.Green, "fits torch")}}
	}
	if len(answers) == 0 {
		return nil
	}
	if w.Origin == "image" {
		b.Name, b.Version = "image", w.Name+" "+w.Version
	}
	return rowsOf(b, e, answers, r)
}

// bySubject indexes a report by subject, because searching thousands for each of thousands would be slow.
type bySubject struct {
	answers map[string][]verdict.BuildAnswer
	failed  map[string][]verdict.BuildAnswer // what an error means for one without an answer of its own, by target
	fits    map[string]bool                  // compared with the framework that it was built for, on every target, and holds
}

func subjects(r report.Report) bySubject {
	s := bySubject{map[string][]verdict.BuildAnswer{}, map[string][]verdict.BuildAnswer{}, map[string]bool{}}
	for _, a := range r.Answers {
		s.answers[a.Subject] = append(s.answers[a.Subject], a)
	}
	compared := func(rule string) bool { return rule == "extension-mismatch" || rule == "companion-mismatch" }
	for _, p := range r.Passed {
		if compared(p.Rule) {
			s.fits[p.Subject] = true
		}
	}
	for _, f := range r.Findings {
		if compared(f.Rule) {
			delete(s.fits, f.Subject)
		}
		if f.Severity == verdict.Error {
			s.failed[f.Subject] = append(s.failed[f.Subject],
				verdict.BuildAnswer{Subject: f.Subject, Target: f.Target, Answer: verdict.Broken, Counts: true})
		}
	}
	for _, u := range r.Unknown {
		delete(s.fits, u.Subject)
	}
	return s
}

// rowsOf returns a build's row, and one for each different answer on other targets.
func rowsOf(b facts.Build, e facts.Environment, given []verdict.BuildAnswer, r report.Report) []row {
	targets := map[verdict.Answer][]string{}
	var kinds []verdict.Answer
	for _, a := range given {
		if !slices.Contains(kinds, a.Answer) {
			kinds = append(kinds, a.Answer)
		}
		targets[a.Answer] = layout.AppendUnique(targets[a.Answer], a.Target)
	}
	rows := []row{{name: b.Name, details: buildDetails(b), from: cmp.Or(e.Path, b.From)}}
	for i, kind := range kinds {
		if i > 0 {
			rows = append(rows, row{})
		}
		rows[i].answer, rows[i].where = AnswerWords[kind], layout.NameTargets(targets[kind])
		if i == 0 {
			rows[i].mark = answerMarks[kind]
		}
		if links := ownLinks(given[i]); links != "" && len(given) == 1 {
			rows[i].answer = layout.Painted{Text: links} // each link bears its own mark
		}
		switch n := len(r.Judged); {
		case n == 1:
			rows[i].where = "" // the rows above name the only target
		case len(targets[kind]) == n:
			rows[i].where = " on " + all(n)
		}
		if !given[0].Counts {
			rows[i].where += whyNotCounted(r)
		}
	}
	return rows
}

// all returns "both", "all 3".
func all(n int) string {
	if n == 2 {
		return "both"
	}
	return fmt.Sprintf("all %d", n)
}

// whyNotCounted returns the reason why a build does not affect the outcome.
func whyNotCounted(r report.Report) string {
	if slices.ContainsFunc(r.Facts.Environments, func(e facts.Environment) bool { return e.Named }) {
		return " (not named)"
	}
	return " (not active)"
}

// buildDetails returns "2.9.0+cu130", or "0.6.2, CUDA 12" if the version does not show the CUDA.
func buildDetails(b facts.Build) string {
	version := cmp.Or(b.Version, b.Specifier, "(version unknown)")
	switch {
	case strings.Contains(version, "+"):
		return version
	case b.CUDA != "":
		return version + ", CUDA " + b.CUDA
	case b.Accelerator != "" && b.Accelerator != "cuda":
		return version + ", for " + accelerators[b.Accelerator]
	}
	return version
}

var accelerators = map[string]string{"cpu": "CPUs", "rocm": "ROCm", "xpu": "XPUs"}

// AnswerWords are the words for a build's answer, in their colours.
var AnswerWords = map[verdict.Answer]layout.Painted{
	verdict.Works: layout.Paint(layout.Green, "works"), verdict.WorksMinorVersion: layout.Paint(layout.Green, "works (minor-compat)"),
	verdict.WorksForward: layout.Paint(layout.Green, "works (forward compatibility)"),
	verdict.WorksCPUOnly: layout.Paint(layout.Yellow, "no GPU use"),
	verdict.Broken:       layout.Paint(layout.Red, "does not work"), verdict.Unknown: layout.Paint(layout.Yellow, "unknown"),
}
