package artefact

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
)

// unsealed are the tables whose lines are linted by themselves: a signature must match the line that it shows.
var unsealed = []string{"signature"}

// vouched identifies what supports a row: a source that a program reads, for all rows that name it, or a page, for its
// own rows.
type vouched struct{ id, page string }

// vouchers returns the rows behind each source, in their order. A source that no entry of the list knows is a
// complaint.
func (d *Data) vouchers(lock Lock) (rows map[vouched][]string, complaints []string) {
	rows = map[vouched][]string{}
	for _, name := range tables.Names() {
		g := d.Grids[name]
		for i, row := range g.Rows {
			if slices.Contains(unsealed, name) {
				continue
			}
			line := lineOf(name, row)
			for _, source := range sheet.SourcesOf(g.Cell(i, "source")) {
				id := sheet.Lock(lock).Origin(name, source)
				switch {
				case id == "":
					complaints = append(complaints, fmt.Sprintf("%s.csv: %s: no entry of sources.toml knows %s", name,
						strings.Join(row[:g.Keys], " "), source))
				case lock[id].Typed():
					rows[vouched{id, source}] = append(rows[vouched{id, source}], line)
				default:
					rows[vouched{id, ""}] = append(rows[vouched{id, ""}], line)
				}
			}
		}
	}
	return rows, complaints
}

// lineOf returns what is sealed of a row.
func lineOf(table string, row []string) string { return table + "," + string(render([][]string{row})) }

// Pages returns the sources of rows that a person typed.
func (d *Data) Pages(lock Lock) []string {
	var list []string
	rows, _ := d.vouchers(lock)
	for v := range rows {
		if v.page != "" {
			list = append(list, v.page)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func sealOf(rows []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(slices.Compact(rows), ""))))[:16]
}

// marksOf returns a mark of each row, three bytes of its digest: by them a sync knows which row is another than it was.
func marksOf(rows []string) string {
	var marks []byte
	for _, row := range slices.Compact(slices.Clone(rows)) {
		marks = append(marks, mark(row)...)
	}
	return base64.StdEncoding.EncodeToString(marks)
}

func mark(row string) []byte {
	sum := sha256.Sum256([]byte(row))
	return sum[:3]
}

// Altered returns the rows of a source that changed since a program read it, by their seals. Without seals in the lock,
// all count as changed.
func (d *Data) Altered(lock Lock, id string) map[string]bool {
	rows, _ := d.vouchers(lock)
	marks, err := base64.StdEncoding.DecodeString(lock[id].Marks)
	known := map[string]bool{}
	for mark := range slices.Chunk(marks, 3) {
		known[string(mark)] = err == nil
	}
	altered := map[string]bool{}
	for _, row := range rows[vouched{id, ""}] {
		if !known[string(mark(row))] {
			altered[row] = true
		}
	}
	return altered
}

// Seal writes down which rows each source vouches for as they are now: those that a program has read (all where ids is
// nil), and, as of today, the pages that a person has read. The other pages of the same rows keep their day. Pages that
// no row names any more are forgotten.
func (d *Data) Seal(lock Lock, ids, pages []string) {
	rows, _ := d.vouchers(lock)
	for id, one := range lock {
		switch {
		case one.Typed():
			one.Rows, one.Marks = "", ""
		case ids == nil || slices.Contains(ids, id):
			one.Rows, one.Marks = sealOf(rows[vouched{id, ""}]), marksOf(rows[vouched{id, ""}])
		}
		maps.DeleteFunc(one.Pages, func(page string, _ sheet.Page) bool { return rows[vouched{id, page}] == nil })
		maps.DeleteFunc(one.Overruled, func(cell, _ string) bool { return !d.hasLine(cell) })
	}
	for v, lines := range rows {
		if !slices.Contains(pages, v.page) {
			continue
		}
		if lock[v.id].Pages == nil {
			lock[v.id].Pages = map[string]sheet.Page{}
		}
		lock[v.id].Pages[v.page] = sheet.Page{Read: time.Now().Format(time.DateOnly), Rows: sealOf(lines)}
		for other, of := range rows {
			page := lock[other.id].Pages[other.page]
			if page.Read != "" && slices.ContainsFunc(of, func(line string) bool { return slices.Contains(lines, line) }) {
				lock[other.id].Pages[other.page] = sheet.Page{Read: page.Read, Rows: sealOf(of)}
			}
		}
	}
}

// Follow renews the seals of pages whose rows a program has changed. It changes only cells that it has read, so what a
// person read on the pages, and the day, stay valid.
func (d *Data) Follow(lock Lock, changes []Change) {
	rows, _ := d.vouchers(lock)
	for _, c := range changes {
		for _, source := range sheet.SourcesOf(c.New[slices.Index(c.Columns, "source")]) {
			id := sheet.Lock(lock).Origin(c.Table, source)
			if id == "" || !lock[id].Typed() {
				continue
			}
			page := lock[id].Pages[source]
			if page.Read == "" {
				page.Read = time.Now().Format(time.DateOnly)
			}
			if lock[id].Pages == nil {
				lock[id].Pages = map[string]sheet.Page{}
			}
			lock[id].Pages[source] = sheet.Page{Read: page.Read, Rows: sealOf(rows[vouched{id, source}])}
		}
	}
}

// Broken returns the sources whose rows changed since they were read: those of programs by their ids, pages by their
// addresses.
func (d *Data) Broken(lock Lock) (ids, pages []string) {
	rows, _ := d.vouchers(lock)
	for v, lines := range rows {
		switch {
		case v.page == "" && lock[v.id].Rows != sealOf(lines):
			ids = append(ids, v.id)
		case v.page != "" && lock[v.id].Pages[v.page].Rows != sealOf(lines):
			pages = append(pages, v.page)
		}
	}
	slices.Sort(ids)
	slices.Sort(pages)
	return ids, slices.Compact(pages)
}

// Lint returns the cells of the tables that nobody supports on a day: in rows without a known source, or changed since
// their source was read; derived cells that do not say so; and lines of hand.csv that a source also has, or that are
// due for review.
func Lint(dir, today string) ([]string, error) {
	d, err := OpenData(dir)
	if err != nil {
		return nil, err
	}
	list, err := ReadSources(dir)
	if err != nil {
		return nil, err
	}
	lock, err := ReadLock(dir)
	if err != nil {
		return nil, err
	}
	lock.Match(list)
	_, complaints := d.vouchers(lock)
	complaints = append(complaints, d.LackingByHand()...)
	ids, pages := d.Broken(lock)
	for _, id := range ids {
		complaints = append(complaints, fmt.Sprintf("%s: its rows are not as they were when it was read: run `tables sync -w %s`, "+
			"which reads them again", id, id))
	}
	for _, page := range pages {
		complaints = append(complaints, fmt.Sprintf("%s was changed since %s was read: read it, and then run `tables vouch '%s'`",
			d.firstNaming(page), page, page))
	}
	complaints = append(complaints, d.unread(list, lock)...)
	complaints = append(complaints, d.unwatched(list)...)
	complaints = append(complaints, lock.neverRead(list, today)...)
	for _, c := range d.Derive() {
		for _, i := range c.Differs() {
			complaints = append(complaints, fmt.Sprintf("%s.csv: %s: %s is %q, and what follows from other cells is %q: "+
				"change it, or write a line of hand.csv", c.Table, strings.Join(c.Key, " "), c.Columns[i], c.Old[i], c.New[i]))
		}
	}
	complaints = append(complaints, d.needless(lock)...)
	return append(complaints, d.PastReview(today)...), nil
}

// firstNaming returns the first row that names a page, "torch.csv: 2.9.0 cu130 linux_x86_64".
func (d *Data) firstNaming(page string) string {
	for _, name := range tables.Names() {
		g := d.Grids[name]
		for i, row := range g.Rows {
			if slices.Contains(sheet.SourcesOf(g.Cell(i, "source")), page) {
				return name + ".csv: " + strings.Join(row[:g.Keys], " ") + ", or another row that names it,"
			}
		}
	}
	return page
}

// ours are the columns that no source has: where a row comes from, and this project's own judgement.
var ours = []string{"source", "verified", "note", "blame", "cause", "meaning"}

// unread returns cells that no program has read, in rows that name nothing else than what programs read.
func (d *Data) unread(list []Listed, lock Lock) []string {
	var complaints []string
	fills := map[string][]string{}
	for _, l := range list {
		fills[l.ID] = l.fills()
	}
	for _, name := range tables.Names() {
		g := d.Grids[name]
		for i, row := range g.Rows {
			columns, all := slices.Clone(ours), true
			for _, source := range sheet.SourcesOf(g.Cell(i, "source")) {
				id := sheet.Lock(lock).Origin(name, source)
				all = all && id != "" && !lock[id].Typed()
				columns = append(columns, fills[id]...)
			}
			if !all || slices.Contains(unsealed, name) {
				continue
			}
			key := strings.Join(row[:g.Keys], " ")
			for at, column := range g.Columns[g.Keys:] {
				if row[g.Keys+at] != "" && !slices.Contains(columns, column) && !d.isSetByHand(name, key, column) {
					complaints = append(complaints, fmt.Sprintf("%s.csv: %s: %s is neither read by a program nor a line of hand.csv, "+
						"and the row names no page", name, key, column))
				}
			}
		}
	}
	return complaints
}

// hasLine reports whether hand.csv has a line of "table key column".
func (d *Data) hasLine(cell string) bool {
	return slices.ContainsFunc(d.Grids["hand"].Rows, func(row []string) bool { return strings.Join(row[:3], " ") == cell })
}

// needless returns the lines of hand.csv that a source, or what follows from other cells, says too.
func (d *Data) needless(lock Lock) []string {
	var complaints []string
	said := func(cell, value, by string) {
		g := d.Grids["hand"]
		for _, row := range g.Rows {
			if strings.Join(row[:3], " ") == cell && row[g.Column("value")] == value {
				complaints = append(complaints, fmt.Sprintf("hand.csv: %s says so too of %s: take the line out", by, cell))
			}
		}
	}
	for cell, value := range d.following {
		said(cell, value, "what follows from other cells")
	}
	for id, one := range lock {
		for cell, value := range one.Overruled {
			said(cell, value, id)
		}
	}
	slices.Sort(complaints)
	return complaints
}

// Overrules keeps a source's values of cells that hand.csv overrides.
func (l Lock) Overrules(id string, c Change) {
	for cell, value := range c.Overruled {
		if l[id].Overruled == nil {
			l[id].Overruled = map[string]string{}
		}
		l[id].Overruled[cell] = value
	}
}
