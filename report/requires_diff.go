package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"cudacompat/matrix"
	"cudacompat/requires"
)

// RequireDiffFormats is every format of a requirement that is compared with another, by name.
var RequireDiffFormats = []Format[Requires]{
	{"text", diffText},
	{"json", func(w io.Writer, r Requires, _ Style) error { return writeJSON(w, r) }},
	{"github", diffGitHub},
	{"sarif", func(w io.Writer, r Requires, s Style) error { return SARIF(w, diffReport(r), s) }},
}

// diffText writes what a bump costs: the named targets, then the changes, each with the lines that make it.
func diffText(w io.Writer, r Requires, s Style) error {
	p := &page{style: s}
	text, colour := diffWords(r)
	p.wrap(2, text, painted{colour, "requires"}, ": ")
	for i, t := range r.Diff.Targets {
		if i == 0 {
			p.line()
		}
		p.line("  ", painted{bold, targetWord(t)}, "  ", t.Target)
	}
	for _, c := range r.Diff.Changes {
		p.line()
		p.wrap(10, capabilityWords(c.Capabilities)+": "+p.products(c.GPUs), fmt.Sprintf("  %-7s ", c.Kind))
		p.field("was", c.Old.String())
		p.field("is", nowWords(c))
		for _, n := range c.Because {
			p.field("for", limitWords(n))
		}
	}
	_, err := w.Write(p.Bytes())
	return err
}

// nowWords are the drivers that a change leaves.
func nowWords(c requires.Change) string {
	text := c.New.String()
	if len(c.Undecided) > 0 {
		text += "; unknown for " + c.Undecided.String()
	}
	return text
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

// diffWords is the change in one sentence.
func diffWords(r Requires) (text, colour string) {
	lost, fewer, unknown := 0, 0, 0
	for _, c := range r.Diff.Changes {
		switch c.Kind {
		case "lost":
			lost += len(c.GPUs)
		case "unknown":
			unknown += len(c.GPUs)
		case "raised", "moved":
			fewer += len(c.GPUs)
		}
	}
	named := 0 // hosts that are lost
	for _, t := range r.Diff.Targets {
		if t.Lost() {
			named++
		}
	}
	switch {
	case len(r.Unknown) > 0:
		return "what it needs is unknown: " + r.Unknown[0].Subject + ": " + r.Unknown[0].Missing, yellow
	case named > 0:
		return fmt.Sprintf("%s lost that ran %s", plural(named, "named target"), cmp.Or(r.Diff.Old, "the old one")), red
	case lost+fewer+unknown > 0:
		text = fmt.Sprintf("%s lost, %s with fewer drivers than %s took", plural(lost, "GPU product"),
			plural(fewer, "GPU product"), cmp.Or(r.Diff.Old, "the old one"))
		if unknown > 0 {
			text += fmt.Sprintf(", %d unknown", unknown)
		}
		return text, yellow
	case len(r.Diff.Changes) > 0:
		return "nothing is lost, and more hosts can run it", green
	}
	return "no host is lost and none is gained", green
}

// diffFindings are the changes that take something away, as findings on the lines that do it.
func diffFindings(r Requires) []matrix.Finding {
	severity := matrix.Warning
	if r.Diff.Lost() {
		severity = matrix.Error
	}
	var list []matrix.Finding
	for _, c := range r.Diff.Changes {
		if c.Kind == "lowered" || c.Kind == "gained" {
			continue
		}
		for _, n := range c.Because {
			message := fmt.Sprintf("GPUs of compute capability %s took the drivers %s, and now take %s: %s",
				capabilityWords(c.Capabilities), c.Old.String(), nowWords(c),
				strings.Join(c.GPUs[:min(len(c.GPUs), 6)], ", "))
			list = append(list, matrix.Finding{Rule: n.Rule, Severity: severity, Subject: cmp.Or(n.Subject, "GPU"),
				Message: message, Need: n.Need, Pins: []matrix.Pin{},
				Evidence: []matrix.Evidence{{Fact: n.Subject, Value: n.Row, From: n.From}},
				Do:       []string{"keep the older version for these hosts, or take them out of the pool"}, Source: n.Source})
		}
	}
	return list
}

// diffReport is a report of the changes, for the formats that show findings beside a file.
func diffReport(r Requires) Report {
	v := matrix.Verdict{Outcome: matrix.Compatible, Findings: diffFindings(r)}
	if r.Diff.Lost() {
		v.Outcome = matrix.Incompatible
	}
	report := New(r.Tool, r.Facts, nil, v)
	report.Source = r.Source
	return report
}

// diffGitHub writes workflow commands: the sentence, then one for each change and line.
func diffGitHub(w io.Writer, r Requires, _ Style) error {
	var b bytes.Buffer
	text, colour := diffWords(r)
	kinds := map[string]string{red: "error ", yellow: "warning ", green: "notice "}
	annotate(&b, kinds[colour], "cudacompat requires", text)
	report := diffReport(r)
	for _, f := range report.Findings {
		annotate(&b, commands[f.Severity]+githubPlace(f, report), f.Rule+": "+f.Subject, details(report, f))
	}
	_, err := w.Write(b.Bytes())
	return err
}
