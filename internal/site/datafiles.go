package site

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
)

// formFactor matches what follows a model's name and does not change what runs on it: memory, form, interconnect,
// laptop.
var formFactor = regexp.MustCompile(`(?i)([- ](SXM\d?|PCIE|NVL|HBM\d?e?|\d+ ?GB|SMX\d|Laptop GPU|Embedded GPU|Mobile|with Max-Q Design|Max-Q))+$`)

// tables copies the tables as they are, in the form that --matrix takes, with a page that lists them.
func (b *builder) tables() error {
	t := thing{Kind: "data", Name: "Tables", Answer: "Every table, as data, with the source of each row", Table: &dataTable{Caption: "Tables", Columns: []string{"table", "rows", "as old as"}}}
	var names []string
	err := fs.WalkDir(b.Data, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".csv" { // the patterns of logs are no tables
			return err
		}
		data, err := fs.ReadFile(b.Data, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".csv") {
			names = append(names, name)
		}
		return b.write("data/"+name, data)
	})
	if err != nil {
		return err
	}
	sources, err := b.Tables.Sources()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		g, err := b.Tables.Grid(strings.TrimSuffix(path.Base(name), ".csv"))
		if err != nil {
			continue
		}
		day := ""
		for _, s := range sources {
			if s.Name == g.Table {
				day = s.Date
			}
		}
		t.Table.Rows = append(t.Table.Rows, []string{name, fmt.Sprint(len(g.Rows)), day})
		t.Neighbours = append(t.Neighbours, neighbour{name, "data/" + name})
	}
	t.Notes = append(t.Notes, "The addresses stay. A directory of these files is what `cudacompat --matrix DIR` takes.",
		fmt.Sprintf("For programs: /gpu/NAME.json, /torch/RELEASE.json, /driver/BRANCH.json, /instance/TYPE.json, /rule/ID.json, /xid/NUMBER.json, /error/CODE.json, /grid.json. Newest rows: %s.", b.Tables.Checked()))
	return b.thing("data/", "Tables and sources", t, tables.Names()...)
}
