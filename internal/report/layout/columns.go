package layout

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
)

// FoldParagraph breaks text between words at the screen's width, and indents further lines.
func FoldParagraph(text string, width int) string {
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

// ScreenWidth returns the width to write for. It assumes 80 columns for a terminal of unknown width.
func ScreenWidth(s Style) int {
	if s.Width > 0 {
		return s.Width
	}
	return 80
}

// CellGap separates two cells.
const CellGap = "  "

// AlignColumns returns one line for each row, with the cells of each column aligned and no borders.
func AlignColumns(rows [][]string) []string {
	var out bytes.Buffer
	t := tablewriter.NewWriter(&out)
	t.SetBorder(false)
	t.SetAutoWrapText(false)
	t.SetNoWhiteSpace(true)
	t.SetTablePadding(CellGap)
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

// PadRight appends spaces to text up to a width in columns.
func PadRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-CountColumns(text)))
}

// FormatCell returns the text of a cell that the terminal can show, cut to limit columns.
func (p *Page) FormatCell(text string, limit int) string {
	return strings.TrimRight(p.MakeShowable(Shorten(text, limit)), " ")
}

// WriteField writes "    name  text", wrapped under the text.
func (p *Page) WriteField(name, text string) {
	p.WriteWrapped(10, text, fmt.Sprintf("    %-5s ", name))
}

// WriteCommand writes a command to copy. If it is wider than the page, it is broken between words with backslashes. A
// shell comment at its end, which says where to run it, moves to the front.
func (p *Page) WriteCommand(name, text string) {
	text, comment, _ := strings.Cut(text, "  # ")
	if comment != "" {
		p.WriteField(name, comment)
		name = ""
	}
	const margin = 10
	if room := p.Style.Width - CountColumns(text); room >= 0 && room < margin && CountColumns(text) <= shortCommand {
		p.WriteLine(strings.TrimRight(fmt.Sprintf("    %-5s", name), " "))
		p.WriteLine(strings.Repeat(" ", room), Painted{Bold, text})
		return
	}
	for i, line := range FoldCommandAfter(text, margin, p.Style.Width) {
		if i == 0 {
			p.WriteLine(fmt.Sprintf("    %-5s ", name), Painted{Bold, strings.TrimLeft(line, " ")})
		} else {
			p.WriteLine(Painted{Bold, line})
		}
	}
}
