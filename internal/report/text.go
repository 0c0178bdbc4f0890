package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/config"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Text writes the report for people: the verdict, one line for each build, findings as short paragraphs, and the count.
func Text(w io.Writer, r Report, s Style) error {
	s.site = r.Tool.Site
	p := &page{style: s}
	findings := joinFindings(r.Findings, briefNotes(p.style.All))
	p.headline(r, findings)
	p.plan(r)
	p.table(r)
	for i, f := range topOf(findings) {
		p.finding(f, i == 0 && f.Severity == verdict.Error)
	}
	p.writeRest(len(findings), "findings")
	p.exclusive(r)
	p.inTree(r)
	p.writeLooked(r)
	p.unknowns(r)
	p.failures(r)
	p.disagreements(r)
	p.log(r)
	p.writeWaived(r)
	p.writeExpired(r)
	p.writeConfiguration(r.Configuration)
	p.try(r)
	p.writePassed(r)
	p.writeNotRead(r)
	p.ownTables(r)
	p.writeLeftOut(r)
	p.line()
	p.wrap(0, p.counts(r, findings))
	_, err := w.Write(p.Bytes())
	return err
}

// inTree says where to run the commands for a tree at rest, because here they would change another machine.
func (p *page) inTree(r Report) {
	if r.Facts.System.Rest && slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
		return f.Severity != verdict.Note && (len(f.Pins) > 0 || slices.ContainsFunc(f.Steps, func(s pin.Step) bool { return s.Run != "" }))
	}) {
		where := "The commands are for the tree that was looked at: run them in it (chroot), or in the step that builds it."
		if r.Facts.Image != nil {
			where = "The commands are for the step that builds the image, but those that install a driver: that is the host's."
		}
		p.line()
		p.wrap(0, where)
	}
}

// ownTables says whether a site's own rows took part in the judgement.
func (p *page) ownTables(r Report) {
	if own := OwnTables(r.Tool.Tables); len(own) > 0 {
		p.line()
		p.wrap(0, "Judged with rows of --matrix in "+strings.Join(own, ", ")+"; the others are of "+r.Tool.Matrix+".")
	}
}

// headline writes the verdict in one sentence.
func (p *page) headline(r Report, findings []statement) {
	p.wrap(2, outcomeText(r, findings), outcomeWord(r))
}

// outcomeWord returns the verdict's first word. outcomeText returns the text after it.
func outcomeWord(r Report) paintedText {
	switch r.Outcome {
	case verdict.Incompatible:
		return paintedText{red, "incompatible"}
	case verdict.Inconclusive:
		return paintedText{yellow, "inconclusive"}
	}
	return paintedText{green, "compatible"}
}

func outcomeText(r Report, findings []statement) string {
	switch r.Outcome {
	case verdict.Incompatible:
		return incompatible(r, findings)
	case verdict.Inconclusive:
		return ": " + inconclusive(r)
	}
	return ": " + compatible(r, findings)
}

// incompatible names the first error, its target, and the number of other errors.
func incompatible(r Report, findings []statement) string {
	errors := ofSeverity(findings, verdict.Error)
	if len(errors) == 0 {
		return ""
	}
	text := on(errors[0].targets) + ": " + sentence(errors[0].Finding)
	if n := len(errors) - 1; n > 0 {
		text += " (and " + r.least() + plural(n, "more error") + ")"
	}
	return text
}

// compatible says what works, and where.
func compatible(r Report, findings []statement) string {
	warnings := ofSeverity(findings, verdict.Warning)
	text := worksText(r)
	if len(r.Suppressed) > 0 {
		text = "what is wrong is waived: " + r.Suppressed[0].Rule
	}
	if n := len(warnings); n > 0 {
		text += " (" + plural(n, "warning") + namesOfRules(warnings) + ")"
	}
	return text
}

// namesOfRules names the rules of a few findings, ": process-limits", or returns "" if there are many.
func namesOfRules(findings []statement) string {
	var rules []string
	for _, f := range findings {
		rules = add(rules, f.Rule)
	}
	if len(rules) > 2 {
		return ""
	}
	return ": " + few(rules, 2)
}

// driverDoubted reports whether a finding leaves open if the driver knows the GPU.
func (r Report) driverDoubted() bool {
	return slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
		return f.Rule == "driver-too-old-for-gpu" || f.Rule == "vgpu-driver"
	})
}

func worksText(r Report) string {
	var works, machines []string
	for _, a := range r.Answers {
		if a.Counts && a.Answer != verdict.Broken && a.Answer != verdict.Unknown && a.Answer != verdict.WorksCPUOnly {
			works = add(works, a.About.Words())
		}
	}
	for _, j := range r.Judged {
		machines = add(machines, j.Target)
	}
	text := "the driver supports the GPU"
	if r.driverDoubted() {
		text = "the driver may not support the GPU"
	}
	if slices.ContainsFunc(r.Judged, func(j verdict.Judged) bool { return len(j.GPUs) > 1 }) {
		text += "s"
	}
	text += on(machines)
	switch {
	case len(r.Answers) == 0 && slices.ContainsFunc(r.Facts.Probes,
		func(s facts.Status) bool { return s.Name == "python" && s.Status == "skipped" }):
		return text + "; no build was looked for"
	case len(r.Answers) == 0:
		return text + "; no PyTorch, TensorFlow or JAX was found"
	case len(works) == 0:
		return text
	case len(works) == 1:
		return works[0] + " works" + on(machines)
	}
	return few(works, 3) + " work" + on(machines)
}

// exclusive says that no single driver installation works for all targets: some GPUs need the open kernel module,
// others the proprietary one.
func (p *page) exclusive(r Report) {
	needs := map[string][]string{}
	for _, j := range r.Judged {
		needs[j.Module] = add(needs[j.Module], j.Target)
	}
	open, proprietary := needs["open"], needs["proprietary"]
	if len(open) == 0 || len(proprietary) == 0 {
		return
	}
	p.line()
	p.wrap(4, fmt.Sprintf("%s the open kernel module, %s the proprietary one; make an AMI for each", needing(open), needing(proprietary)),
		paintedText{yellow, "! no one driver serves all targets"}, ": ")
}

// needing returns targets with their verb.
func needing(targets []string) string {
	if len(targets) == 1 {
		return targets[0] + " needs"
	}
	return few(targets, 3) + " need"
}

// disagreements says where the tables are wrong about a build.
func (p *page) disagreements(r Report) {
	if !p.style.Verbose {
		return
	}
	for _, d := range topOf(r.Disagreements) {
		p.line()
		p.wrap(4, d.Subject, paintedText{yellow, "! a table disagrees"}, ": ")
		p.field("read", d.Fact+" "+d.Read+readAt(verdict.Evidence{From: d.From}))
		p.field("table", cmp.Or(d.Table, "none")+"; the table is wrong, please report it")
		for _, source := range d.Source {
			p.command("from", source)
		}
	}
}

// writeWaived lists the findings that a waiver hides.
func (p *page) writeWaived(r Report) {
	for _, s := range topOf(r.Suppressed) {
		why := s.Reason
		if s.Until != "" {
			why += ", until " + s.Until
		}
		p.line()
		p.wrap(4, s.Subject+on(add(nil, s.Target)), paintedText{cyan, "~ waived " + s.Rule}, ": ")
		p.field("by", why)
	}
	p.writeRest(len(r.Suppressed), "waived findings")
}

// writeExpired lists expired waivers whose findings still exist.
func (p *page) writeExpired(r Report) {
	for _, w := range r.Waivers {
		if n := lapsedFindings(r, w); n > 0 {
			p.line()
			p.wrap(4, plural(n, "finding")+" waived until "+w.Until+", which has passed",
				paintedText{yellow, "~ expired " + w.Rule}, ": ")
			p.field("by", w.Reason)
		}
	}
}

// writeConfiguration names the configuration that changed the result, and those that were ignored.
func (p *page) writeConfiguration(e *config.Effect) {
	for _, note := range e.Notes() {
		p.line()
		if why, ignored := strings.CutPrefix(note, "ignored "); ignored {
			p.wrap(2, why, paintedText{yellow, "! ignored the configuration"}, " ")
			continue
		}
		p.wrap(2, note, paintedText{cyan, "~ configuration"}, ": ")
	}
}

// writeNotRead names the fields of a pasted text that were not understood.
func (p *page) writeNotRead(r Report) {
	for _, s := range r.Facts.Probes {
		if fields, ok := strings.CutPrefix(s.Error, facts.NotRead); ok && p.style.All {
			p.line()
			p.wrap(4, fields, paintedText{cyan, "· not read"}, " in "+s.Name+": ")
		}
	}
}

// writePassed lists the rules that passed, each subject once.
func (p *page) writePassed(r Report) {
	if !p.style.All {
		return
	}
	var subjects []string
	rules := map[string][]string{}
	for _, passed := range r.Passed {
		subject := passed.Subject + on(add(nil, passed.Target))
		if len(rules[subject]) == 0 {
			subjects = append(subjects, subject)
		}
		rules[subject] = add(rules[subject], passed.Rule)
	}
	for _, subject := range topOf(subjects) {
		p.line()
		p.wrap(4, subject, paintedText{green, "= passed"}, ": ")
		p.wrap(4, "ruled out: "+strings.Join(rules[subject], ", "), "    ")
	}
	p.writeRest(len(subjects), "that passed")
}

// counts returns the last line. It counts what the page shows: equal findings of several targets are one.
func (p *page) counts(r Report, findings []statement) string {
	count := func(s verdict.Severity) int { return len(ofSeverity(findings, s)) }
	list := []string{plural(count(verdict.Error), "error"), plural(count(verdict.Warning), "warning")}
	notes := count(verdict.Note)
	if notes > 0 {
		list = append(list, plural(notes, "note"))
	}
	list = append(list, fmt.Sprintf("%d unknown", len(gaps(r.Unknown))), fmt.Sprintf("%d passed", len(r.Passed)))
	if n := len(r.Suppressed); n > 0 {
		list = append(list, fmt.Sprintf("%d waived", n))
	}
	text := r.least() + strings.Join(list, ", ")
	var more []string
	if hidden := len(r.Passed) + len(r.Unknown) + notes; hidden > 0 && !p.style.All {
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
func hasCommand(f statement) bool {
	return f.Severity != verdict.Note && (slices.ContainsFunc(f.Steps, func(s pin.Step) bool { return s.Run != "" }) ||
		slices.ContainsFunc(f.Pins, func(p verdict.Pin) bool { return len(p.Commands) > 0 }))
}
