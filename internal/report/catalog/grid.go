package catalog

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/tables/sheet"
)

// GridFormats lists every format of a table.
var GridFormats = []report.Format[sheet.Grid]{
	{Name: "text", Write: gridText},
	{Name: "json", Write: gridJSON},
	{Name: "csv", Write: gridCSV},
	{Name: "markdown", Write: gridMarkdown},
}

// gridJSON writes an array of objects with the table's header as names, in its order. Every value is text.
func gridJSON(w io.Writer, g sheet.Grid, _ layout.Style) error {
	rows := make([]object, 0, len(g.Rows))
	for _, row := range g.Rows {
		rows = append(rows, object{g.Columns, row})
	}
	return report.WriteJSON(w, rows)
}

// object is a JSON object with ordered fields.
type object struct{ names, values []string }

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, name := range o.names {
		fmt.Fprintf(&b, "%s%q:", separator(i), name)
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // ">=" stays as the table has it
		if err := e.Encode(o.values[i]); err != nil {
			return nil, err
		}
	}
	return []byte("{" + b.String() + "}"), nil
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// gridCSV writes the rows as in their file.
func gridCSV(w io.Writer, g sheet.Grid, _ layout.Style) error {
	c := csv.NewWriter(w)
	if err := c.Write(g.Columns); err != nil {
		return err
	}
	return c.WriteAll(g.Rows)
}

// gridMarkdown writes a pipe table with every column.
func gridMarkdown(w io.Writer, g sheet.Grid, _ layout.Style) error {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(g.Columns)
	line(slices.Repeat([]string{"---"}, len(g.Columns)))
	for _, row := range g.Rows {
		escaped := make([]string, len(row))
		for i, cell := range row {
			escaped[i] = strings.ReplaceAll(layout.Clean(cell), "|", `\|`)
		}
		line(escaped)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gridText writes the columns that fit the screen, the key's first. --all shows every column. If a few rows do not fit,
// it writes them as records.
func gridText(w io.Writer, g sheet.Grid, s layout.Style) error {
	shown, left := chooseColumns(g, columnWidths(g), s)
	var b strings.Builder
	if 0 < len(g.Rows) && len(g.Rows) <= 5 && slices.ContainsFunc(left,
		func(name string) bool { return name != "source" }) {
		left = []string{"source"}
		gridRecords(&b, g, s)
	} else {
		gridLines(&b, g, shown, s)
	}
	fmt.Fprintf(&b, "\n%s", layout.CountNoun(len(g.Rows), "row"))
	if date := g.Date(); date != "" {
		fmt.Fprintf(&b, ", checked %s", date)
	}
	if fmt.Fprintln(&b); len(left) > 0 {
		fmt.Fprintln(&b, layout.FoldParagraph("--all also shows: "+strings.Join(left, ", "), layout.ScreenWidth(s)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gridLines writes the header and one line for each row.
func gridLines(b *strings.Builder, g sheet.Grid, shown []int, s layout.Style) {
	var rows [][]string
	for _, row := range append([][]string{g.Columns}, g.Rows...) {
		var cells []string
		for _, column := range shown {
			cells = append(cells, layout.Clean(row[column]))
		}
		rows = append(rows, cells)
	}
	for i, line := range layout.AlignColumns(rows) {
		if i == 0 {
			line = s.PaintHeading(line)
		}
		fmt.Fprintln(b, line)
	}
}

// gridRecords writes a paragraph for each row, with a line for each column that has a value. It omits sources, which
// are too long.
func gridRecords(b *strings.Builder, g sheet.Grid, s layout.Style) {
	pad := 0
	for _, name := range g.Columns[g.Keys:] {
		pad = max(pad, len(name))
	}
	for i, row := range g.Rows {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintln(b, s.PaintHeading(g.Table+" "+layout.Clean(strings.Join(row[:g.Keys], " "))))
		for j := g.Keys; j < len(row); j++ {
			if row[j] != "" && g.Columns[j] != "source" {
				text := layout.FoldParagraph(layout.Clean(strings.ReplaceAll(row[j], ";", "; ")), layout.ScreenWidth(s)-pad-4)
				fmt.Fprintf(b, "  %-*s  %s\n", pad, g.Columns[j], strings.ReplaceAll(text, "\n  ", "\n"+strings.Repeat(" ", pad+4)))
			}
		}
	}
}

func columnWidths(g sheet.Grid) []int {
	widths := make([]int, len(g.Columns))
	for i, name := range g.Columns {
		widths[i] = utf8.RuneCountInString(name)
		for _, row := range g.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// chooseColumns takes the key, and then the other columns in order as long as they fit. It omits empty columns.
func chooseColumns(g sheet.Grid, widths []int, s layout.Style) (shown []int, left []string) {
	used := 0
	for i, name := range g.Columns {
		empty := len(g.Rows) > 0 && !slices.ContainsFunc(g.Rows, func(row []string) bool { return row[i] != "" })
		switch fits := used+widths[i] <= layout.ScreenWidth(s); {
		case s.All || i < g.Keys || fits && !empty:
			shown, used = append(shown, i), used+widths[i]+2
		case !empty:
			left = append(left, name)
		}
	}
	return shown, left
}
