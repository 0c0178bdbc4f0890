package report

import (
	"bytes"
	"fmt"
	"strings"

	"cudacompat/matrix"
	"cudacompat/probe"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// table writes the facts that matter: driver, GPUs, builds with their answers; a row each, no borders.
func (p *page) table(r Report) error {
	rows := p.rows(r)
	if len(rows) == 0 {
		return nil
	}
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone}}),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}), tablewriter.WithTrimSpace(tw.Off))
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	p.line("")
	for line := range strings.Lines(out.String()) {
		p.line("  %s", strings.TrimRight(line, " \n"))
	}
	return nil
}

func (p *page) rows(r Report) [][]string {
	f := &r.Facts
	var rows [][]string
	if d := f.Driver; d.Version != "" || d.CUDA != "" {
		rows = append(rows, []string{"driver", join(", ", d.Version, prefixed("CUDA ", d.CUDA)), d.From, ""})
	} else if len(d.Libraries) > 0 {
		rows = append(rows, []string{"driver", join(" ", d.Libraries[0].Version, "(installed, not loaded)"), d.Libraries[0].Path, ""})
	}
	rows = append(rows, gpuRows(f.GPUs)...)
	for _, t := range f.Toolkits {
		rows = append(rows, []string{"toolkit", "CUDA " + t.Version, t.Path, ""})
	}
	rows = append(rows, p.buildRows(r)...)
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = clean(rows[i][j])
		}
	}
	return rows
}

// gpuRows writes equal GPUs in one row, "8 × NVIDIA H100 80GB HBM3 (9.0)".
func gpuRows(gpus []probe.GPU) [][]string {
	var rows [][]string
	count := map[string]int{}
	for _, g := range gpus {
		label := gpuLabel(g)
		if count[label]++; count[label] == 1 {
			rows = append(rows, []string{"GPU", label, strings.Join(g.From, ", "), ""})
		}
	}
	for _, row := range rows {
		if n := count[row[1]]; n > 1 {
			row[1] = fmt.Sprintf("%d × %s", n, row[1])
		}
	}
	return rows
}

func gpuLabel(g probe.GPU) string {
	name := g.Name
	if name == "" {
		name = "NVIDIA device " + g.PCIID
	}
	if g.Capability != "" {
		name += " (" + g.Capability + ")"
	}
	return name
}

func (p *page) buildRows(r Report) [][]string {
	var rows [][]string
	for _, e := range r.Facts.Environments {
		for _, b := range e.Builds {
			details := b.Version
			if !strings.Contains(b.Version, "+") {
				details = join(", ", b.Version, prefixed("CUDA ", b.CUDA))
			}
			rows = append(rows, []string{b.Name, details, e.Path, p.answers(r, b, e)})
		}
	}
	return rows
}

// answers is a build's answer, for several targets one each.
func (p *page) answers(r Report, b probe.Build, e probe.Environment) string {
	var list []string
	for _, a := range r.Answers {
		if a.Subject != matrix.Subject(&b, &e) {
			continue
		}
		text := answerText[a.Answer]
		if a.Target != "" {
			text = a.Target + ": " + text
		}
		if !a.Counts {
			text += " (not active)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

var answerText = map[matrix.Answer]string{
	matrix.Works: "works", matrix.WorksMinorVersion: "works (minor version)", matrix.WorksForward: "works (forward compatibility)",
	matrix.Broken: "broken", matrix.Unknown: "unknown",
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func join(separator string, parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, separator)
}
