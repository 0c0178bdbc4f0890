package plaintext

import (
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
)

// row is one line of the table: name, version, place, and an answer with its targets or condition.
type row struct {
	mark                layout.Painted // of what is well, broken or not known; empty where a row is no link of a chain
	name, details, from string
	answer              layout.Painted
	where               string
	build               bool // what runs on the machine, whose links are the rows above
}

// writeTable writes the relevant facts, a row each, without borders: driver, GPUs, toolkits, and builds with their
// answers.
func writeTable(p *layout.Page, r report.Report) {
	all := listRows(p, r)
	rows := takeShown(all)
	if len(rows) == 0 {
		return
	}
	p.WriteLine()
	g := newGrid(p, rows)
	aligned := g.align(rows)
	for i, row := range rows {
		g.write(row, aligned[i])
	}
	writeRest(p, len(all), "rows")
}

// Limits that keep one very long name from moving the cells of all other rows.
const (
	nameLimit    = 20
	detailsLimit = 72
	pathLimit    = 100
)

// grid holds the columns at which the cells of a table begin. Places share a column as far as the page allows. In a row
// that is too long, the place follows the text or moves to a line of its own.
type grid struct {
	*layout.Page
	name    int          // columns of the names
	details int          // columns of the builds' versions: their answers stand under each other
	place   map[bool]int // where the places begin, of the machine's rows and of the builds'
}

func newGrid(p *layout.Page, rows []row) *grid {
	g := &grid{Page: p, place: map[bool]int{}}
	for i := range rows {
		row := &rows[i]
		row.name, row.details, row.from = p.FormatCell(row.name, nameLimit), p.FormatCell(row.details, detailsLimit), p.FormatCell(row.from, pathLimit)
		g.name = max(g.name, layout.CountColumns(row.title()))
		if row.build {
			g.details = max(g.details, layout.CountColumns(row.details))
		}
	}
	for _, build := range []bool{false, true} {
		g.place[build] = g.bestPlace(rows, build)
	}
	return g
}

// bestPlace returns the column that fits the places of most rows.
func (g *grid) bestPlace(rows []row, build bool) int {
	best, most := 0, 0
	for _, candidate := range rows {
		at, n := g.end(candidate), 0
		for _, row := range rows {
			if row.build == build && row.from != "" && g.end(row) <= at && g.fits(at+len(layout.CellGap)+layout.CountColumns(row.from)) {
				n++
			}
		}
		if candidate.build == build && (n > most || n == most && at < best) {
			best, most = at, n
		}
	}
	return best
}

func (g *grid) fits(width int) bool { return g.Style.Width == 0 || width <= g.Style.Width }

// margin returns the column of the text after the names.
func (g *grid) margin() int { return len(layout.CellGap) + g.name + len(layout.CellGap) }

// text returns a row's version, padded if a build's answer follows.
func (g *grid) text(r row) string {
	switch {
	case r.answer.Text == "" || r.details == "" && !r.build:
		return r.details
	case r.build:
		return layout.PadRight(r.details, g.details) + layout.CellGap
	}
	return r.details + layout.CellGap
}

// end returns the column after a row's text and answer.
func (g *grid) end(r row) int {
	return g.margin() + layout.CountColumns(g.text(r)) + layout.CountColumns(g.MakeShowable(r.answer.Text+r.where))
}

// inColumn reports whether a row's place fits into the shared column.
func (g *grid) inColumn(r row) bool {
	at := g.place[r.build]
	return r.from != "" && g.end(r) <= at && g.fits(at+len(layout.CellGap)+layout.CountColumns(r.from))
}

// plain returns a row up to its place, without colour.
func (g *grid) plain(r row) string {
	return layout.PadRight(r.title(), g.name) + layout.CellGap + g.text(r) + g.MakeShowable(r.answer.Text+r.where)
}

// align lays out the rows whose places share a column, separately for the machine and the builds.
func (g *grid) align(rows []row) map[int]string {
	lines := map[int]string{}
	for _, build := range []bool{false, true} {
		var set []int
		var cells [][]string
		for i, r := range rows {
			if r.build == build && g.inColumn(r) {
				set, cells = append(set, i), append(cells, []string{g.plain(r), r.from})
			}
		}
		for n, line := range layout.AlignColumns(cells) {
			lines[set[n]] = line
		}
	}
	return lines
}

// write writes one row. line is the complete row if its place is in the column.
func (g *grid) write(r row, line string) {
	end := g.end(r)
	if !g.fits(end) {
		g.fold(r)
		return
	}
	parts := []any{layout.CellGap, r.mark, layout.PadRight(strings.TrimPrefix(r.title(), r.mark.Text), g.name-layout.CountColumns(r.mark.Text)) + layout.CellGap,
		g.text(r), r.answer, r.where}
	switch {
	case r.from == "":
		g.WriteLine(parts...)
	case line != "":
		g.WriteLine(append(parts, strings.TrimPrefix(line, g.plain(r)))...)
	case g.fits(end + len(layout.CellGap) + layout.CountColumns(r.from)):
		g.WriteLine(append(parts, layout.CellGap+r.from)...)
	default:
		g.WriteLine(parts...)
		g.WriteWrapped(g.margin(), r.from, strings.Repeat(" ", g.margin()))
	}
}

// fold writes a row that is wider than the page on several lines, broken between words: version, answer, place.
func (g *grid) fold(r row) {
	lead := []any{layout.CellGap, r.mark, layout.PadRight(strings.TrimPrefix(r.title(), r.mark.Text), g.name-layout.CountColumns(r.mark.Text)) + layout.CellGap}
	for _, cell := range []string{r.details, r.answer.Text + r.where, r.from} {
		if cell != "" {
			g.WriteWrapped(g.margin(), cell, lead...)
			lead = []any{strings.Repeat(" ", g.margin())}
		}
	}
}

// title returns a row's name after its mark, or after a space.
func (r row) title() string {
	if r.mark.Text == "" {
		return "  " + r.name
	}
	return r.mark.Text + " " + r.name
}
