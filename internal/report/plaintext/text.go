// Package plaintext writes reports for people: the verdict in a sentence, a table of the machine and its builds, findings
// as short paragraphs with evidence and fixes, what could not be judged, and the counts.
//
// Other results are written in the same words: tables of images (WriteImages), the forecast of an install
// (GuardFormats), and the times of the probes (WriteProbes). Formats for programs that have a field for free text take
// the paragraph of a finding from FormatDetails. The package decides nothing, and writes only to a layout.Page.
package plaintext

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/config"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Write writes the report for people: the verdict, one line for each build, findings as short paragraphs, and the
// count.
func Write(w io.Writer, r report.Report, s layout.Style) error {
	s.Site = r.Tool.Site
	p := &layout.Page{Style: s}
	findings := report.JoinFindings(r.Findings, briefNotes(p.Style.All))
	writeHeadline(p, r, findings)
	writePlan(p, r)
	writeTable(p, r)
	for i, f := range takeShown(findings) {
		WriteFinding(p, f, i == 0 && f.Severity == verdict.Error)
	}
	writeRest(p, len(findings), "findings")
	writeModuleConflict(p, r)
	writeWhereToRun(p, r)
	writeLooked(p, r)
	writeUnknowns(p, r)
	writeFailures(p, r)
	writeDisagreements(p, r)
	writeLog(p, r)
	writeWaived(p, r)
	writeExpired(p, r)
	writeConfiguration(p, r.Configuration)
	writeHint(p, r)
	writePassed(p, r)
	writeNotRead(p, r)
	writeOwnTables(p, r)
	writeLeftOut(p, r)
	p.WriteLine()
	p.WriteWrapped(0, countListed(p, r, findings))
	_, err := w.Write(p.Bytes())
	return err
}

// writeWhereToRun says where to run the commands for a mounted disk or an unpacked image, because here they would change
// this machine instead.
func writeWhereToRun(p *layout.Page, r report.Report) {
	if r.Facts.System.Rest && slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
		return f.Severity != verdict.Note && (len(f.Pins) > 0 || slices.ContainsFunc(f.Steps, func(s pin.Step) bool { return s.Run != "" }))
	}) {
		where := "The commands are for the tree that was looked at: run them in it (chroot), or in the step that builds it."
		if r.Facts.Image != nil {
			where = "The commands are for the step that builds the image, but those that install a driver: that is the host's."
		}
		p.WriteLine()
		p.WriteWrapped(0, where)
	}
}

// writeOwnTables says whether a site's own rows took part in the judgement.
func writeOwnTables(p *layout.Page, r report.Report) {
	if own := report.OwnTables(r.Tool.Tables); len(own) > 0 {
		p.WriteLine()
		p.WriteWrapped(0, "Judged with rows of --matrix in "+strings.Join(own, ", ")+"; the others are of "+r.Tool.Matrix+".")
	}
}

// writeHeadline writes the verdict in one sentence.
func writeHeadline(p *layout.Page, r report.Report, findings []report.Statement) {
	p.WriteWrapped(2, outcomeText(r, findings), outcomeWord(r))
}

// outcomeWord returns the verdict's first word. outcomeText returns the text after it.
func outcomeWord(r report.Report) layout.Painted {
	switch r.Outcome {
	case verdict.Incompatible:
		return layout.Paint(layout.Red, "incompatible")
	case verdict.Inconclusive:
		return layout.Paint(layout.Yellow, "inconclusive")
	}
	return layout.Paint(layout.Green, "compatible")
}

func outcomeText(r report.Report, findings []report.Statement) string {
	switch r.Outcome {
	case verdict.Incompatible:
		return incompatible(r, findings)
	case verdict.Inconclusive:
		return ": " + report.ExplainInconclusive(r)
	}
	return ": " + compatible(r, findings)
}

// incompatible names the first error, its target, and the number of other errors.
func incompatible(r report.Report, findings []report.Statement) string {
	errors := report.SelectSeverity(findings, verdict.Error)
	if len(errors) == 0 {
		return ""
	}
	text := layout.NameTargets(errors[0].Targets) + ": " + report.FormatSentence(errors[0].Finding)
	if n := len(errors) - 1; n > 0 {
		text += " (and " + r.QualifyCount() + layout.CountNoun(n, "more error") + ")"
	}
	return text
}

// compatible says what works, and where.
func compatible(r report.Report, findings []report.Statement) string {
	warnings := report.SelectSeverity(findings, verdict.Warning)
	text := DescribeWorking(r)
	if len(r.Suppressed) > 0 {
		text = "what is wrong is waived: " + r.Suppressed[0].Rule
	}
	if n := len(warnings); n > 0 {
		text += " (" + layout.CountNoun(n, "warning") + namesOfRules(warnings) + ")"
	}
	return text
}

// namesOfRules names the rules of a few findings, ": process-limits", or returns "" if there are many.
func namesOfRules(findings []report.Statement) string {
	var rules []string
	for _, f := range findings {
		rules = layout.AppendUnique(rules, f.Rule)
	}
	if len(rules) > 2 {
		return ""
	}
	return ": " + layout.ListFirst(rules, 2)
}

// doubtsDriver reports whether a finding leaves open if the driver knows the GPU.
func doubtsDriver(r report.Report) bool {
	return slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
		return f.Rule == "driver-too-old-for-gpu" || f.Rule == "vgpu-driver"
	})
}

// DescribeWorking says which builds work, or whether the driver supports the GPU, and on which machines.
func DescribeWorking(r report.Report) string {
	var works, machines []string
	for _, a := range r.Answers {
		if a.Counts && a.Answer != verdict.Broken && a.Answer != verdict.Unknown && a.Answer != verdict.WorksCPUOnly {
			works = layout.AppendUnique(works, a.About.Words())
		}
	}
	for _, j := range r.Judged {
		machines = layout.AppendUnique(machines, j.Target)
	}
	text := "the driver supports the GPU"
	if doubtsDriver(r) {
		text = "the driver may not support the GPU"
	}
	if slices.ContainsFunc(r.Judged, func(j verdict.Judged) bool { return len(j.GPUs) > 1 }) {
		text += "s"
	}
	text += layout.NameTargets(machines)
	switch {
	case len(r.Answers) == 0 && slices.ContainsFunc(r.Facts.Probes,
		func(s facts.Status) bool { return s.Name == "python" && s.Status == "skipped" }):
		return text + "; no build was looked for"
	case len(r.Answers) == 0:
		return text + "; no PyTorch, TensorFlow or JAX was found"
	case len(works) == 0:
		return text
	case len(works) == 1:
		return works[0] + " works" + layout.NameTargets(machines)
	}
	return layout.ListFirst(works, 3) + " work" + layout.NameTargets(machines)
}

// writeModuleConflict says that no single driver installation works for all targets: some GPUs need the open kernel
// module, others the proprietary one.
func writeModuleConflict(p *layout.Page, r report.Report) {
	needs := map[string][]string{}
	for _, j := range r.Judged {
		needs[j.Module] = layout.AppendUnique(needs[j.Module], j.Target)
	}
	open, proprietary := needs["open"], needs["proprietary"]
	if len(open) == 0 || len(proprietary) == 0 {
		return
	}
	p.WriteLine()
	p.WriteWrapped(4, fmt.Sprintf("%s the open kernel module, %s the proprietary one; make an AMI for each", needing(open), needing(proprietary)),
		layout.Paint(layout.Yellow, "! no one driver serves all targets"), ": ")
}

// needing returns targets with their verb.
func needing(targets []string) string {
	if len(targets) == 1 {
		return targets[0] + " needs"
	}
	return layout.ListFirst(targets, 3) + " need"
}

// writeDisagreements says where the tables are wrong about a build.
func writeDisagreements(p *layout.Page, r report.Report) {
	if !p.Style.Verbose {
		return
	}
	for _, d := range takeShown(r.Disagreements) {
		p.WriteLine()
		p.WriteWrapped(4, d.Subject, layout.Paint(layout.Yellow, "! a table disagrees"), ": ")
		p.WriteField("read", d.Fact+" "+d.Read+readAt(verdict.Evidence{From: d.From}))
		p.WriteField("table", cmp.Or(d.Table, "none")+"; the table is wrong, please report it")
		for _, source := range d.Source {
			p.WriteCommand("from", source)
		}
	}
}

// writeWaived lists the findings that a waiver hides.
func writeWaived(p *layout.Page, r report.Report) {
	for _, s := range takeShown(r.Suppressed) {
		why := s.Reason
		if s.Until != "" {
			why += ", until " + s.Until
		}
		p.WriteLine()
		p.WriteWrapped(4, s.Subject+layout.NameTargets(layout.AppendUnique(nil, s.Target)), layout.Paint(layout.Cyan, "~ waived "+s.Rule), ": ")
		p.WriteField("by", why)
	}
	writeRest(p, len(r.Suppressed), "waived findings")
}

// writeExpired lists expired waivers whose findings still exist.
func writeExpired(p *layout.Page, r report.Report) {
	for _, w := range r.Waivers {
		if n := CountLapsed(r, w); n > 0 {
			p.WriteLine()
			p.WriteWrapped(4, layout.CountNoun(n, "finding")+" waived until "+w.Until+", which has passed",
				layout.Paint(layout.Yellow, "~ expired "+w.Rule), ": ")
			p.WriteField("by", w.Reason)
		}
	}
}

// writeConfiguration names the configuration that changed the result, and those that were ignored.
func writeConfiguration(p *layout.Page, e *config.Effect) {
	for _, note := range e.Notes() {
		p.WriteLine()
		if why, ignored := strings.CutPrefix(note, "ignored "); ignored {
			p.WriteWrapped(2, why, layout.Paint(layout.Yellow, "! ignored the configuration"), " ")
			continue
		}
		p.WriteWrapped(2, note, layout.Paint(layout.Cyan, "~ configuration"), ": ")
	}
}

// writeNotRead names the fields of a pasted text that were not understood.
func writeNotRead(p *layout.Page, r report.Report) {
	for _, s := range r.Facts.Probes {
		if fields, ok := strings.CutPrefix(s.Error, facts.NotRead); ok && p.Style.All {
			p.WriteLine()
			p.WriteWrapped(4, fields, layout.Paint(layout.Cyan, "· not read"), " in "+s.Name+": ")
		}
	}
}

// writePassed lists the rules that passed, each subject once.
func writePassed(p *layout.Page, r report.Report) {
	if !p.Style.All {
		return
	}
	var subjects []string
	rules := map[string][]string{}
	for _, passed := range r.Passed {
		subject := passed.Subject + layout.NameTargets(layout.AppendUnique(nil, passed.Target))
		if len(rules[subject]) == 0 {
			subjects = append(subjects, subject)
		}
		rules[subject] = layout.AppendUnique(rules[subject], passed.Rule)
	}
	for _, subject := range takeShown(subjects) {
		p.WriteLine()
		p.WriteWrapped(4, subject, layout.Paint(layout.Green, "= passed"), ": ")
		p.WriteWrapped(4, "ruled out: "+strings.Join(rules[subject], ", "), "    ")
	}
	writeRest(p, len(subjects), "that passed")
}

// countListed returns the last line. It counts what the page shows: equal findings of several targets are one.
func countListed(p *layout.Page, r report.Report, findings []report.Statement) string {
	count := func(s verdict.Severity) int { return len(report.SelectSeverity(findings, s)) }
	list := []string{layout.CountNoun(count(verdict.Error), "error"), layout.CountNoun(count(verdict.Warning), "warning")}
	notes := count(verdict.Note)
	if notes > 0 {
		list = append(list, layout.CountNoun(notes, "note"))
	}
	list = append(list, fmt.Sprintf("%d unknown", len(gaps(r.Unknown))), fmt.Sprintf("%d passed", len(r.Passed)))
	if n := len(r.Suppressed); n > 0 {
		list = append(list, fmt.Sprintf("%d waived", n))
	}
	text := r.QualifyCount() + strings.Join(list, ", ")
	var more []string
	if hidden := len(r.Passed) + len(r.Unknown) + notes; hidden > 0 && !p.Style.All {
		more = append(more, "--all shows all")
	}
	if slices.ContainsFunc(findings, hasCommand) {
		more = append(more, "-o script writes the fixes as a script")
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// hasCommand reports whether an error or warning has a command that fixes it.
func hasCommand(f report.Statement) bool {
	return f.Severity != verdict.Note && (slices.ContainsFunc(f.Steps, func(s pin.Step) bool { return s.Run != "" }) ||
		slices.ContainsFunc(f.Pins, func(p verdict.Pin) bool { return len(p.Commands) > 0 }))
}
