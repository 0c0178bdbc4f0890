package needs

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
)

// DiffFormats lists every format of a requirement that is compared with another.
var DiffFormats = []report.Format[Requires]{
	{Name: "text", Write: diffText},
	{Name: "json", Write: func(w io.Writer, r Requires, _ layout.Style) error { return report.WriteJSON(w, r) }},
	{Name: "github", Write: diffGitHub},
	{Name: "sarif", Write: func(w io.Writer, r Requires, s layout.Style) error { return formats.WriteSARIF(w, diffReport(r), s) }},
}

// diffText writes what a bump changes: the named targets, the changes, and their causes, each once.
func diffText(w io.Writer, r Requires, s layout.Style) error {
	p := &layout.Page{Style: s}
	text, colour := diffWords(r)
	p.WriteWrapped(2, text, layout.Paint(colour, "requires"), ": ")
	for i, t := range r.Diff.Targets {
		if i == 0 {
			p.WriteLine()
		}
		p.WriteLine("  ", layout.Paint(layout.Bold, targetWord(t)), "  ", t.Target)
	}
	var causes []requires.Need
	for i, c := range r.Diff.Changes {
		if i == 0 {
			p.WriteLine()
		}
		if i == 0 && len(r.Diff.Targets) > 0 {
			p.WriteLine("  of all GPUs in the tables")
		}
		p.WriteWrapped(10, capabilityWords(c.Capabilities)+": "+nameProducts(p, c.GPUs), fmt.Sprintf("  %-7s ", c.Kind))
		p.WriteWrapped(10, changeWords(c), "          ")
		causes = append(causes, c.Because...)
	}
	writeCauses(p, causes)
	for _, i := range r.Diff.Images {
		p.WriteLine()
		p.WriteWrapped(4, plainSpeech.image(i), "  ")
	}
	_, err := w.Write(p.Bytes())
	return err
}

// writeCauses lists needs, each once.
func writeCauses(p *layout.Page, list []requires.Need) {
	var said []string
	for _, n := range list {
		text := limitWords(n)
		if slices.Contains(said, text) {
			continue
		}
		if len(said) == 0 {
			p.WriteLine()
		}
		said = append(said, text)
		p.WriteWrapped(8, text, "  ", layout.Paint(layout.Cyan, n.Rule), "  ")
	}
}

// changeWords returns the drivers before and after, with the rules that now refuse some.
func changeWords(c requires.Change) string {
	text := beforeAndNow(c)
	var rules []string
	for _, n := range c.Because {
		if !slices.Contains(rules, n.Rule) {
			rules = append(rules, n.Rule)
		}
	}
	if len(rules) > 0 {
		text += " (" + strings.Join(rules, ", ") + ")"
	}
	return text
}

// beforeAndNow returns the drivers that a change removes and keeps.
func beforeAndNow(c requires.Change) string {
	text := driverWords(c.Old) + " before, "
	if len(c.New) > 0 || len(c.Undecided) == 0 {
		text += driverWords(c.New) + " now"
	}
	switch {
	case len(c.Undecided) == 0:
		return text
	case len(c.New) > 0:
		text += ", "
	}
	return text + "unknown now for " + driverWords(c.Undecided)
}

func driverWords(d requires.Drivers) string {
	switch {
	case len(d) == 0:
		return "no driver"
	case d.Any():
		return "any driver"
	}
	return "driver " + d.String()
}

func targetWord(t requires.TargetChange) string {
	switch {
	case t.Lost():
		return "lost   "
	case t.Old && t.Unknown:
		return "unknown"
	case t.New && !t.Old:
		return "gained "
	case t.New:
		return "kept   "
	}
	return "never  "
}

// diffWords describes the change in one sentence.
func diffWords(r Requires) (text, colour string) {
	var lost, open []string // hosts
	for _, t := range r.Diff.Targets {
		switch {
		case t.Lost():
			lost = append(lost, t.Target)
		case t.Old && t.Unknown:
			open = append(open, t.Target)
		}
	}
	now, old := cmp.Or(r.Artefact, "the new one"), cmp.Or(r.Diff.Old, "the old one")
	costs := r.costs()
	switch {
	case len(r.Unknown) > 0:
		return "what it needs is unknown: " + r.Unknown[0].Subject + ": " + r.Unknown[0].Missing, layout.Yellow
	case len(r.Diff.OldUnknown) > 0 && len(lost) == 0:
		return "what " + old + " needed, and so what is lost, is unknown: " + r.Diff.OldUnknown[0].Subject + ": " + r.Diff.OldUnknown[0].Missing, layout.Yellow
	case len(lost) == 1:
		return fmt.Sprintf("%s does not run on %s, where %s did", now, lost[0], old), layout.Red
	case len(lost) > 0:
		return fmt.Sprintf("%s does not run on %d of the named hosts, where %s did", now, len(lost), old), layout.Red
	case len(open) > 0:
		return fmt.Sprintf("it is unknown whether %s runs on %s, where %s does", now, layout.ListFirst(open, 3), old), layout.Yellow
	case len(r.Diff.Targets) > 0:
		return fmt.Sprintf("%s runs on every named host on which %s runs", now, old), layout.Green
	case len(costs) > 0:
		return fmt.Sprintf("%s instead of %s: %s", now, old, strings.Join(costs, "; ")), layout.Yellow
	case len(r.Diff.Images) > 0:
		return "the packages need no newer driver and drop no GPU; the base image declares a newer CUDA, which a container runtime in legacy or csv mode checks", layout.Yellow
	case len(r.Diff.Changes) > 0:
		return "nothing is lost, and more hosts can run it", layout.Green
	}
	return "the drivers and GPUs that can run it are the same", layout.Green
}

// costs counts the changes that remove something.
func (r Requires) costs() []string {
	var list []string
	for _, cost := range []struct{ words, kinds string }{
		{"does not run on %s any more", "lost"}, {"runs with fewer drivers on %s", "raised moved"},
		{"it is unknown whether it runs on %s", "unknown"}} {
		n := 0
		for _, c := range r.Diff.Changes {
			if slices.Contains(strings.Fields(cost.kinds), c.Kind) {
				n += len(c.GPUs)
			}
		}
		if n > 0 {
			list = append(list, fmt.Sprintf(cost.words, layout.CountNoun(n, "GPU product")))
		}
	}
	return list
}

// diffFindings converts losses to findings on the lines that cause them, one for each cause. Unknown is not an error.
func diffFindings(r Requires) []verdict.Finding {
	var list []verdict.Finding
	at := map[string]int{}
	for _, c := range r.Diff.Changes {
		if c.Kind == "lowered" || c.Kind == "gained" {
			continue
		}
		p := layout.Page{}
		change := fmt.Sprintf("%s (%s): %s", nameProducts(&p, c.GPUs), capabilityWords(c.Capabilities), beforeAndNow(c))
		for _, n := range c.Because {
			if i, ok := at[n.Key()]; ok {
				list[i].Message += "; " + change
				continue
			}
			at[n.Key()] = len(list)
			list = append(list, diffFinding(n, change, r.Diff.Lost()))
		}
	}
	return list
}

func diffFinding(n requires.Need, change string, lost bool) verdict.Finding {
	severity, need := verdict.Warning, n.Need
	switch {
	case n.Missing != "":
		need, change = "", limitWords(n)+": "+change
	case lost:
		severity = verdict.Error
	}
	return verdict.Finding{Rule: n.Rule, Severity: severity, Subject: cmp.Or(n.Subject, "GPU"), Message: change,
		Need: need, Evidence: []verdict.Evidence{{Fact: n.Subject, Value: n.Row, From: n.From}},
		Pins: []verdict.Pin{}, Source: n.Source,
		Do: []string{"keep the older version for these hosts, or take them out of the pool"}}
}

// diffReport returns a report of the changes, for the formats that show findings beside a file.
func diffReport(r Requires) report.Report {
	v := verdict.Verdict{Outcome: verdict.Compatible, Findings: diffFindings(r)}
	if r.Diff.Lost() {
		v.Outcome = verdict.Incompatible
	}
	report := report.New(r.Tool, r.Facts, nil, v)
	report.Source = r.Source
	return report
}

// diffGitHub writes workflow commands: the sentence, then one for each change and line.
func diffGitHub(w io.Writer, r Requires, _ layout.Style) error {
	var b bytes.Buffer
	text, colour := diffWords(r)
	kinds := map[string]string{layout.Red: "error ", layout.Yellow: "warning ", layout.Green: "notice "}
	formats.WriteAnnotation(&b, kinds[colour], "cudacompat requires", text)
	report := diffReport(r)
	for _, f := range report.Findings {
		formats.WriteAnnotation(&b, formats.AnnotationKinds[f.Severity]+formats.LocateAnnotation(f, report), f.Rule+": "+f.Subject, plaintext.FormatDetails(report, f))
	}
	_, err := w.Write(b.Bytes())
	return err
}
