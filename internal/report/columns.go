package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
)

// paragraph breaks text between words at the screen's width, and indents further lines.
func paragraph(text string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width > 0 && used+1+utf8.RuneCountInString(word) > width:
			b.WriteString("\n  ")
			used = 2
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += utf8.RuneCountInString(word)
	}
	return b.String()
}

// screen returns the width to write for. It assumes 80 columns for a terminal of unknown width.
func screen(s Style) int {
	if s.Width > 0 {
		return s.Width
	}
	return 80
}

// cellGap separates two cells.
const cellGap = "  "

// alignColumns returns one line for each row, with the cells of each column aligned and no borders.
func alignColumns(rows [][]string) []string {
	var out bytes.Buffer
	t := tablewriter.NewWriter(&out)
	t.SetBorder(false)
	t.SetAutoWrapText(false)
	t.SetNoWhiteSpace(true)
	t.SetTablePadding(cellGap)
	t.SetColumnSeparator("")
	t.SetAlignment(tablewriter.ALIGN_LEFT)
	t.AppendBulk(rows)
	t.Render()
	lines := make([]string, len(rows))
	for i := range lines {
		line, _ := out.ReadString('\n')
		lines[i] = strings.TrimRight(line, " \n")
	}
	return lines
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

func (p *page) cell(text string, limit int) string {
	return strings.TrimRight(p.safe(short(text, limit)), " ")
}

// field writes "    name  text", wrapped under the text.
func (p *page) field(name, text string) { p.wrap(10, text, fmt.Sprintf("    %-5s ", name)) }

// command writes a command to copy. If it is wider than the page, it is broken between words with backslashes. A shell
// comment at its end, which says where to run it, moves to the front.
func (p *page) command(name, text string) {
	text, comment, _ := strings.Cut(text, "  # ")
	if comment != "" {
		p.field(name, comment)
		name = ""
	}
	const margin = 10
	if room := p.style.Width - columns(text); room >= 0 && room < margin && columns(text) <= shortCommand {
		p.line(strings.TrimRight(fmt.Sprintf("    %-5s", name), " "))
		p.line(strings.Repeat(" ", room), paintedText{bold, text})
		return
	}
	for i, line := range foldCommand(text, margin, p.style.Width) {
		if i == 0 {
			p.line(fmt.Sprintf("    %-5s ", name), paintedText{bold, strings.TrimLeft(line, " ")})
		} else {
			p.line(paintedText{bold, line})
		}
	}
}
