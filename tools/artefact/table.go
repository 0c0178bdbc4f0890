package artefact

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// Data is the directory of the tables.
type Data struct {
	Dir     string
	Grids   map[string]sheet.Grid // by table
	sources map[string]string     // of every row, by table
	// What follows for the cells for which hand.csv has a line, by "table key column".
	following map[string]string
}

// OpenData loads and lints the tables. Rows that hand.csv refers to may be missing, because a sync restores them.
func OpenData(dir string) (*Data, error) {
	loaded, err := tables.LoadLacking(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	d := &Data{Dir: dir, Grids: map[string]sheet.Grid{}, sources: map[string]string{}, following: map[string]string{}}
	for _, name := range tables.Names() {
		g, err := loaded.Grid(name)
		if err != nil {
			return nil, err
		}
		d.Grids[name] = g
		var sources strings.Builder
		for i := range g.Rows {
			fmt.Fprintln(&sources, g.Cell(i, "source"))
		}
		d.sources[name] = sources.String()
	}
	return d, nil
}

// Change is what a row of a table would become.
type Change struct {
	Source  string // the id of the source that says so; empty where it follows from other cells
	Table   string
	Columns []string
	Key     []string
	Old     []string // nil where the table has no such row
	New     []string
	// What the source says of cells for which hand.csv has a line, by "table key column".
	Overruled map[string]string
}

// Same reports whether there is nothing to change.
func (c Change) Same() bool { return slices.Equal(c.Old, c.New) }

// Differs lists the columns that would change.
func (c Change) Differs() []int {
	var list []int
	for i := range c.New {
		if c.Old == nil || c.Old[i] != c.New[i] {
			list = append(list, i)
		}
	}
	return list
}

// CSV returns the new row as a line of the table.
func (c Change) CSV() string { return strings.TrimRight(string(render([][]string{c.New})), "\n") }

// Compare says what the artefact's row would change in the table.
func (d *Data) Compare(row Row) Change {
	g := d.Grids[row.Table]
	c := Change{Table: row.Table, Columns: g.Columns, New: make([]string, len(g.Columns)), Overruled: map[string]string{}}
	for _, column := range g.Columns[:g.Keys] {
		c.Key = append(c.Key, row.Cells[column])
	}
	if i := slices.IndexFunc(g.Rows, func(r []string) bool { return slices.Equal(r[:g.Keys], c.Key) }); i >= 0 {
		c.Old = g.Rows[i]
		copy(c.New, c.Old)
	}
	for i, column := range g.Columns {
		cell, ok := row.Cells[column]
		switch {
		case ok && d.isSetByHand(row.Table, strings.Join(c.Key, " "), column):
			c.Overruled[strings.Join(slices.Concat([]string{row.Table}, c.Key, []string{column}), " ")] = cell
		case ok && !says(column, c.New[i], cell):
			c.New[i] = cell
		}
		if value, set := d.handCell(row.Table, strings.Join(c.Key, " "), column); set && c.Old == nil {
			c.New[i] = value
		}
	}
	if row.Restated && slices.Equal(c.Old, c.New) {
		return c
	}
	c.mergeSources(row)
	c.keepDate()
	return c
}

// roomy are the columns whose cell may say more than the artefact can: which patch release of CUDA 12.8 it was.
var roomy = []string{"cuda", "cudnn", "built"}

// requirements are the columns whose cells are ranges; the order of their bounds says nothing.
var requirements = []string{"packages", "jaxlib", "numpy"}

// says reports whether a cell says already what was read.
func says(column, old, read string) bool {
	switch {
	case old == read, column == "released" && old != "": // a page tells the day better than the upload does
		return true
	case column == "python" && patchZero.ReplaceAllString(old, "$1") == patchZero.ReplaceAllString(read, "$1"):
		return true
	case slices.Contains(requirements, column):
		return slices.EqualFunc(strings.Fields(old), strings.Fields(read), sameRange)
	case column == "verified": // by more than is read of every release: the libraries of some, too large for all
		said := strings.Fields(old)
		return !slices.ContainsFunc(filesOf(read), func(name string) bool { return !slices.Contains(said, name) })
	case slices.Contains(roomy, column) && read != "":
		return strings.HasPrefix(old, read+".") || slices.Contains(strings.Fields(old), read)
	}
	return false
}

// patchZero matches the version in ">=3.10.0", which says no more than ">=3.10".
var patchZero = regexp.MustCompile(`(3\.\d+)\.0\b`)

// filesOf returns the files that a cell of "verified" names before its date.
func filesOf(verified string) []string {
	words := strings.Fields(verified)
	return words[:max(0, len(words)-1)]
}

// sameRange compares "nvidia-cudnn-cu12>=9.0,<10.0" with "nvidia-cudnn-cu12<10.0,>=9.0".
func sameRange(a, b string) bool {
	bounds := func(text string) (string, []string) {
		name := text[:max(0, strings.IndexAny(text+"<", "<>=!~"))]
		list := strings.Split(text[len(name):], ",")
		slices.Sort(list)
		return name, list
	}
	nameA, boundsA := bounds(a)
	nameB, boundsB := bounds(b)
	return nameA == nameB && slices.Equal(boundsA, boundsB)
}

var wheelSource = regexp.MustCompile(`wheel ([^-\s]+)-\S+ sha256:[0-9a-f]{64}`)

// mergeSources replaces the wheels of the same projects by those that were read, and appends the others.
func (c *Change) mergeSources(row Row) {
	i := slices.Index(c.Columns, "source")
	seen := map[string]bool{}
	release := func(wheel string) string { return strings.Join(strings.SplitN(wheel, "-", 3)[:2], "-") }
	named := map[string]bool{}
	for _, wheel := range wheelSource.FindAllString(c.New[i], -1) {
		named[release(wheel)] = true
	}
	cell := wheelSource.ReplaceAllStringFunc(c.New[i], func(old string) string {
		project := wheelSource.FindStringSubmatch(old)[1]
		now := row.Sources[project]
		if now == "" || named[release(now)] && release(old) != release(now) { // a later release's, which speaks of this one
			return old
		}
		seen[project] = true
		return row.Sources[project]
	})
	// A page replaces the one that said the same before: the next driver's manifest replaces the last one's.
	var kept []string
	for _, have := range sheet.SourcesOf(cell) {
		for prefix, now := range row.Sources {
			if strings.HasPrefix(prefix, "https://") && strings.HasPrefix(have, prefix) {
				seen[prefix], have = true, now
			}
		}
		if !slices.Contains(kept, have) {
			kept = append(kept, have)
		}
	}
	cell = strings.Join(kept, " ")
	projects := make([]string, 0, len(row.Sources))
	for project := range row.Sources {
		projects = append(projects, project)
	}
	slices.Sort(projects)
	for _, project := range projects {
		if !seen[project] {
			cell = strings.TrimSpace(cell + " " + row.Sources[project])
		}
	}
	c.New[i] = cell
}

// keepDate leaves a row unchanged if only the days of reading differ.
func (c *Change) keepDate() {
	if c.Old == nil {
		return
	}
	undated := func(row []string) []string {
		row = slices.Clone(row)
		if i := slices.Index(c.Columns, "verified"); i >= 0 {
			row[i] = row[i][:strings.LastIndex(row[i], " ")+1]
		}
		return row
	}
	byPatch := c.Table == "pypi_default" && strings.Contains(c.Old[3], "wheel ") && slices.Equal(c.Old[:3], c.New[:3])
	if byPatch || slices.Equal(undated(c.Old), undated(c.New)) {
		c.New = c.Old // a row of pypi_default speaks of a release's patches too; one wheel of them is enough
	}
}

// Write puts changed rows into their tables. The tables are written beside their place, linted as a whole, and only
// then moved there: a table is never seen half written, nor with a row that the linter refuses.
func (d *Data) Write(changes []Change) error {
	stage, err := os.MkdirTemp(d.Dir, ".update-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := os.CopyFS(stage, tablesIn(d.Dir)); err != nil {
		return err
	}
	var names []string
	for _, c := range changes {
		name := c.Table + ".csv"
		if err := replaceRow(filepath.Join(stage, name), c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	written, err := OpenData(stage)
	if err != nil {
		return fmt.Errorf("nothing is written, the linter refuses the row: %w", err)
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(stage, name), filepath.Join(d.Dir, name)); err != nil {
			return err
		}
	}
	d.Grids, d.sources = written.Grids, written.sources
	return nil
}

// tablesIn returns a directory with its tables alone.
func tablesIn(dir string) fs.FS { return tablesOnly{os.DirFS(dir)} }

type tablesOnly struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (t tablesOnly) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		table := e.IsDir() || strings.HasSuffix(e.Name(), ".csv") || strings.HasSuffix(e.Name(), ".txt")
		return !table || strings.HasPrefix(e.Name(), ".")
	}), err
}

// replaceRow writes a change into one table: over the row with its key, or where its key belongs.
func replaceRow(name string, c Change) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return err
	}
	if !bytes.Equal(render(records), data) {
		return errors.New("rows are quoted in another way than they would be written; only what changes may differ")
	}
	i, found := slices.BinarySearchFunc(records[1:], c.Key, func(record, key []string) int {
		return sheet.CompareKeys(record[:len(key)], key)
	})
	if found {
		records[i+1] = c.New
	} else {
		records = slices.Insert(records, i+1, c.New)
	}
	return reading.WriteWhole(name, render(records))
}

func render(records [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.WriteAll(records) // a buffer does not fail
	return b.Bytes()
}

// names reports whether a row of a table, or of any table if none is given, is already based on this wheel.
func (d *Data) names(table string, f wheel.File) bool {
	if f.SHA256 == "" {
		return false
	}
	for name, sources := range d.sources {
		if (table == "" || table == name) && strings.Contains(sources, f.SHA256) {
			return true
		}
	}
	return false
}

// hasColumn reports whether the table has a column of that name.
func (d *Data) hasColumn(table, column string) bool {
	g := d.Grids[table]
	return g.Column(column) >= 0
}

// Names reports whether a release on the command line means a candidate: by its version, or by its row's key if the
// table stores the whole version as the build: 9.24.1 means cuDNN 9.24.1.1.
func (d *Data) Names(p Product, release string, c Candidate) bool {
	return release == c.Version || release == c.Version+"+"+c.Local || d.hasColumn(p.Table, "build") && strings.HasPrefix(c.Version, release+".")
}

// Reaches reports whether a candidate is not older than the first of the product's rows for its platform. Rows for
// another platform may begin earlier: those of torch for Windows are typed from 1.5.0 on.
func (d *Data) Reaches(p Product, c Candidate) bool {
	if p.since != "" {
		return reading.CompareVersions(c.Version, p.since) >= 0
	}
	g := d.Grids[p.Table]
	for i, row := range g.Rows {
		if platform := g.Cell(i, "platform"); platform == "" || platform == c.Platform {
			return reading.CompareVersions(c.Version, row[0]) >= 0
		}
	}
	return len(g.Rows) == 0 || reading.CompareVersions(c.Version, g.Rows[0][0]) >= 0
}

// Knows reports whether the tables have a candidate's release for its platform and CUDA family.
func (d *Data) Knows(p Product, c Candidate) bool {
	return len(d.rowsOf(p, c)) > 0 || p.Table == "torch" && c.Local == "" && d.forCPU(c)
}

// rowsOf returns the numbers of the rows that a candidate's release has for its platform and CUDA family. A wheel for
// any platform speaks of all of them.
func (d *Data) rowsOf(p Product, c Candidate) (list []int) {
	g := d.Grids[p.Table]
	for i, row := range g.Rows {
		if p.Table == "extension" {
			if row[0] == p.Name && row[1] == c.Version {
				list = append(list, i)
			}
			continue
		}
		release := cmp.Or(g.Cell(i, "build"), g.Cell(i, "release"))
		platform := g.Cell(i, "platform")
		if release == c.Version && (platform == "" || platform == c.Platform || c.Platform == "any") &&
			strings.HasSuffix(row[1], c.FindFamily()) && (c.Local == "" || row[1] == c.Local) {
			list = append(list, i)
		}
	}
	return list
}

// Unsealed reports whether a row of a candidate changed since its source was read, as in Altered.
func (d *Data) Unsealed(p Product, c Candidate, altered map[string]bool) bool {
	return slices.ContainsFunc(d.rowsOf(p, c), func(i int) bool { return altered[lineOf(p.Table, d.Grids[p.Table].Rows[i])] })
}

// forCPU reports whether PyPI's wheels of a PyTorch release are known to be for CPUs.
func (d *Data) forCPU(c Candidate) bool {
	g := d.Grids["pypi_default"]
	return slices.ContainsFunc(g.Rows, func(row []string) bool {
		return slices.Equal(row[:3], []string{Shorten(c.Version), c.Platform, "cpu"})
	})
}
