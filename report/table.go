package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
)

// row is one line of the table: what it is, its version, where it was read, and a build's answer with the targets or
// the condition that it is for.
type row struct {
	mark                painted // of what is well, broken or not known; empty where a row is no link of a chain
	name, details, from string
	answer              painted
	where               string
}

// table writes the facts that matter, a row each, without borders: driver, GPUs, toolkits, builds with their answers.
func (p *page) table(r Report) error {
	all := p.rows(r)
	rows := topOf(all)
	if len(rows) == 0 {
		return nil
	}
	defer p.rest(len(all), "rows")
	lines, err := p.align(rows)
	if err != nil {
		return err
	}
	p.line()
	if p.tooWide(lines) {
		return p.below(rows)
	}
	for i, line := range lines {
		answer, where := rows[i].answer, rows[i].where
		p.marked(rows[i], strings.TrimSuffix(line, p.safe(answer.text+where)), answer, where)
	}
	return nil
}

func (p *page) tooWide(lines []string) bool {
	return p.style.Width > 0 && slices.ContainsFunc(lines, func(l string) bool { return 2+columns(l) > p.style.Width })
}

// below writes each answer under its row, where it does not fit beside it.
func (p *page) below(rows []row) error {
	plain, margin := slices.Clone(rows), 0
	for i := range plain {
		plain[i].answer, plain[i].where = painted{}, ""
		margin = max(margin, columns(p.cell(plain[i].title(), nameLimit)))
	}
	lines, err := p.align(plain)
	if err != nil {
		return err
	}
	if p.tooWide(lines) || slices.ContainsFunc(rows, func(r row) bool {
		return margin+4+columns(r.answer.text+r.where) > p.style.Width
	}) {
		p.stack(rows)
		return nil
	}
	for i, line := range lines {
		if line != "" {
			p.marked(rows[i], line)
		}
		if rows[i].answer.text != "" {
			p.line(strings.Repeat(" ", margin+4), rows[i].answer, rows[i].where)
		}
	}
	return nil
}

// The limits keep one endless name from pushing all other rows' cells aside; a path is rarely as long.
const (
	nameLimit    = 20
	detailsLimit = 72
	pathLimit    = 100
)

// align sets the rows under each other.
func (p *page) align(rows []row) ([]string, error) {
	var out bytes.Buffer
	t := tablewriter.NewWriter(&out)
	t.SetBorder(false)
	t.SetAutoWrapText(false)
	t.SetNoWhiteSpace(true)
	t.SetTablePadding("  ")
	t.SetColumnSeparator("")
	t.SetAlignment(tablewriter.ALIGN_LEFT)
	for i := range rows {
		row := &rows[i]
		row.name, row.details, row.from = p.cell(row.name, nameLimit), p.cell(row.details, detailsLimit),
			p.cell(row.from, pathLimit)
		row.mark.text, row.answer.text = p.safe(row.mark.text), p.safe(row.answer.text)
		t.Append([]string{row.title(), row.details, row.from, row.answer.text + row.where})
	}
	t.Render()
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines, nil
}

// title is a row's name behind its mark, or behind the space of one.
func (r row) title() string {
	if r.mark.text == "" {
		return "  " + r.name
	}
	return r.mark.text + " " + r.name
}

// marked writes a line of the table with its mark in colour, and what comes after it.
func (p *page) marked(r row, line string, more ...any) {
	rest, found := strings.CutPrefix(line, r.mark.text)
	if !found {
		p.line(append([]any{"  ", line}, more...)...)
		return
	}
	p.line(append([]any{"  ", r.mark, rest}, more...)...)
}

func (p *page) cell(text string, limit int) string { return p.safe(short(text, limit)) }

// stack writes the rows for a screen that is too narrow for columns: the place under the version.
func (p *page) stack(rows []row) {
	wide := 0
	for _, row := range rows {
		wide = max(wide, columns(row.title()))
	}
	for _, row := range rows {
		lead := fmt.Sprintf("  %-*s  ", wide, row.title())
		hang := columns(lead)
		for _, text := range []string{row.details, row.from} {
			if text != "" {
				p.wrap(hang, text, lead)
				lead = strings.Repeat(" ", hang)
			}
		}
		switch {
		case row.answer.text == "":
		case hang+columns(row.answer.text) > p.style.Width: // a chain of links is broken between words, without colour
			p.wrap(hang, row.answer.text+row.where, lead)
		default:
			p.wrap(hang, row.where, lead, row.answer)
		}
	}
}
