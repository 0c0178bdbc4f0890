package site

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// release is one build of a framework or an engine beside PyTorch, as its page has it.
type release struct {
	version, variant, platform, torch string
	index                             string // the project's own, if that has it
	cuda                              version.Number
	sass, python, source              []string
}

// frameworks writes a page for each framework and engine other than PyTorch, with a line for each release. A release's
// own address leads to its line.
func (b *builder) frameworks() error {
	for _, want := range wants {
		if want == "torch" {
			continue
		}
		list := b.releases(want)
		if len(list) == 0 {
			continue
		}
		slices.SortStableFunc(list, func(x, y release) int {
			return cmp.Or(version.CompareTexts(y.version, x.version), strings.Compare(y.variant, x.variant)) // the installer's own index first
		})
		newest := list[0]
		t := thing{Kind: want, Name: titles[want], Ask: template.URL(url.Values{"want": {want}}.Encode()),
			Answer: fmt.Sprintf("%s %s, the newest in the tables: %s", titles[want], newest.version, b.needs(newest)),
			Table:  &dataTable{Caption: "Releases", Columns: []string{"release", "build", "platform", "torch", "CUDA", "driver", "machine code", "Python"}}}
		address := want + "/"
		for _, r := range list {
			anchor := "r" + r.version
			if slices.Contains(t.Table.Anchors, anchor) {
				anchor = ""
			} else {
				b.redirect(address+r.version+"/", address+"#"+anchor)
				if minor := version.ParseOrZero(r.version).Short(); minor != r.version {
					b.redirect(address+minor+"/", address+"#"+anchor) // the newest of it, which comes first
				}
				b.listed(want+" "+r.version, address+"#"+anchor, titles[want]+" "+r.version)
			}
			t.Table.Anchors = append(t.Table.Anchors, anchor)
			t.Table.Rows = append(t.Table.Rows, []string{r.version, r.variant, r.platform, r.torch, r.cuda.String(), b.floor(r), strings.Join(r.sass, " "), strings.Join(r.python, ", ")})
		}
		t.Table.dropEmpty("torch")
		t.Table.fill("machine code", "not read")
		t.Table.fill("Python", "not known")
		t.Source = newest.source
		t.Neighbours = append(t.Neighbours, neighbour{"the table with the source of each release", "data/"})
		if err := b.thing(address, t.Answer, t, want+" releases"); err != nil {
			return err
		}
	}
	return nil
}

// dropEmpty removes a column that is empty in every row.
func (t *dataTable) dropEmpty(column string) {
	at := slices.Index(t.Columns, column)
	if at < 0 || slices.ContainsFunc(t.Rows, func(row []string) bool { return row[at] != "" }) {
		return
	}
	t.Columns = slices.Delete(t.Columns, at, at+1)
	for i, row := range t.Rows {
		t.Rows[i] = slices.Delete(row, at, at+1)
	}
}

// fill writes words into the empty cells of a column.
func (t *dataTable) fill(column, words string) {
	at := slices.Index(t.Columns, column)
	for _, row := range t.Rows {
		row[at] = cmp.Or(row[at], words)
	}
}

// releases returns the CUDA builds of a framework or an engine in the tables.
func (b *builder) releases(want string) []release {
	var list []release
	add := func(w tables.Wheel, source []string) {
		if w.CUDA.Known() {
			list = append(list, release{version: w.Release, variant: w.Variant, platform: w.Platform, cuda: w.CUDA, sass: w.SASS, python: w.Python, source: source})
		}
	}
	switch want {
	case "torch":
		for _, r := range tables.Rows[tables.Torch](b.Tables) {
			add(r.Wheel, r.Source)
		}
	case "tensorflow":
		for _, r := range tables.Rows[tables.TensorFlow](b.Tables) {
			add(r.Wheel, r.Source)
		}
	case "jax":
		for _, r := range tables.Rows[tables.JAX](b.Tables) {
			add(r.Wheel, r.Source)
		}
	default:
		for _, e := range tables.RowsOf[tables.Extension](b.Tables, want) {
			if e.Family().Known() {
				list = append(list, release{version: e.Release, variant: e.Variant, platform: e.Platform, index: e.Index(), torch: strings.Join(e.Torch, " "), cuda: e.Family(), sass: e.SASS, python: e.Python, source: e.Source})
			}
		}
	}
	return list
}

// floor returns the driver that a release needs, ">= 525.60.13".
func (b *builder) floor(r release) string {
	need, _, _ := b.Tables.Floor(r.cuda, strings.HasPrefix(r.platform, "win_"))
	return strings.TrimPrefix(need, "driver ")
}

// needs says what a release is made for.
func (b *builder) needs(r release) string {
	words := fmt.Sprintf("CUDA %s, needs driver %s", r.cuda, b.floor(r))
	if r.torch != "" {
		words = "torch " + r.torch + ", " + words
	}
	return words
}
