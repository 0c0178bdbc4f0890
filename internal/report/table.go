package report

import (
	"bytes"
	"strings"

	"github.com/olekukonko/tablewriter"
)

// row is one line of the table: what it is, its version, where it was read, and an answer with the targets or the
// condition that it is for.
type row struct {
	mark                paintedText // of what is well, broken or not known; empty where a row is no link of a chain
	name, details, from string
	answer              paintedText
	where               string
	build               bool // what runs on the machine, whose links are the rows above
}

// table writes the facts that matter, a row each, without borders: driver, GPUs, toolkits, builds with their answers.
func (p *page) table(r Report) {
	all := p.rows(r)
	rows := topOf(all)
	if len(rows) == 0 {
		return
	}
	p.line()
	g := p.gridOf(rows)
	aligned := g.align(rows)
	for i, row := range rows {
		g.write(row, aligned[i])
	}
	p.writeRest(len(all), "rows")
}

// The limits keep one endless name from pushing all other rows' cells aside; a path is rarely as long.
const (
	nameLimit    = 20
	detailsLimit = 72
	pathLimit    = 100
)

// grid says where the cells of a table begin. A place stands in one column as far as the page is wide enough; where a
// row is too long for it, its place follows its text, or goes into a line of its own.
type grid struct {
	*page
	name    int          // columns of the names
	details int          // columns of the builds' versions: their answers stand under each other
	place   map[bool]int // where the places begin, of the machine's rows and of the builds'
}

// cellGap is what stands between two cells.
const cellGap = "  "

func (p *page) gridOf(rows []row) *grid {
	g := &grid{page: p, place: map[bool]int{}}
	for i := range rows {
		row := &rows[i]
		row.name, row.details, row.from = p.cell(row.name, nameLimit), p.cell(row.details, detailsLimit), p.cell(row.from, pathLimit)
		g.name = max(g.name, columns(row.title()))
		if row.build {
			g.details = max(g.details, columns(row.details))
		}
	}
	for _, build := range []bool{false, true} {
		g.place[build] = g.bestPlace(rows, build)
	}
	return g
}

// bestPlace returns the column in which the places of most rows can stand.
func (g *grid) bestPlace(rows []row, build bool) int {
	best, most := 0, 0
	for _, candidate := range rows {
		at, n := g.end(candidate), 0
		for _, row := range rows {
			if row.build == build && row.from != "" && g.end(row) <= at && g.fits(at+len(cellGap)+columns(row.from)) {
				n++
			}
		}
		if candidate.build == build && (n > most || n == most && at < best) {
			best, most = at, n
		}
	}
	return best
}

func (g *grid) fits(width int) bool { return g.style.Width == 0 || width <= g.style.Width }

// margin returns where the text behind the names begins.
func (g *grid) margin() int { return len(cellGap) + g.name + len(cellGap) }

// text returns a row's version, padded where a build's answer follows it.
func (g *grid) text(r row) string {
	switch {
	case r.answer.text == "" || r.details == "" && !r.build:
		return r.details
	case r.build:
		return pad(r.details, g.details) + cellGap
	}
	return r.details + cellGap
}

// end returns where a row's text and answer end.
func (g *grid) end(r row) int {
	return g.margin() + columns(g.text(r)) + columns(g.safe(r.answer.text+r.where))
}

// inColumn reports whether a row's place can stand under those of the others.
func (g *grid) inColumn(r row) bool {
	at := g.place[r.build]
	return r.from != "" && g.end(r) <= at && g.fits(at+len(cellGap)+columns(r.from))
}

// plain returns a row up to its place, without colour.
func (g *grid) plain(r row) string {
	return pad(r.title(), g.name) + cellGap + g.text(r) + g.safe(r.answer.text+r.where)
}

// align sets the rows whose places stand in one column under each other, the machine's and the builds' apart.
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
		for n, line := range alignColumns(cells) {
			lines[set[n]] = line
		}
	}
	return lines
}

// alignColumns returns one line for each row, with the cells of a column below each other and no borders.
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

// write writes one row; line is the whole of it where its place stands in the column.
func (g *grid) write(r row, line string) {
	end := g.end(r)
	if !g.fits(end) {
		g.fold(r)
		return
	}
	parts := []any{cellGap, r.mark, pad(strings.TrimPrefix(r.title(), r.mark.text), g.name-columns(r.mark.text)) + cellGap,
		g.text(r), r.answer, r.where}
	switch {
	case r.from == "":
		g.line(parts...)
	case line != "":
		g.line(append(parts, strings.TrimPrefix(line, g.plain(r)))...)
	case g.fits(end + len(cellGap) + columns(r.from)):
		g.line(append(parts, cellGap+r.from)...)
	default:
		g.line(parts...)
		g.wrap(g.margin(), r.from, strings.Repeat(" ", g.margin()))
	}
}

// fold writes a row that is wider than the page: version, answer and place under each other, broken between words.
func (g *grid) fold(r row) {
	lead := []any{cellGap, r.mark, pad(strings.TrimPrefix(r.title(), r.mark.text), g.name-columns(r.mark.text)) + cellGap}
	for _, cell := range []string{r.details, r.answer.text + r.where, r.from} {
		if cell != "" {
			g.wrap(g.margin(), cell, lead...)
			lead = []any{strings.Repeat(" ", g.margin())}
		}
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// title returns a row's name behind its mark, or behind the space of one.
func (r row) title() string {
	if r.mark.text == "" {
		return "  " + r.name
	}
	return r.mark.text + " " + r.name
}

func (p *page) cell(text string, limit int) string {
	return strings.TrimRight(p.safe(short(text, limit)), " ")
}
