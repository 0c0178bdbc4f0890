package artefact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables/sheet"
	"cudacompat/tools/artefact/reading"
)

// Derive returns the cells that follow from others, as changes. Nobody types them, and a line of hand.csv overrides
// them.
//
// A new-feature branch ends on the day on which the next branch appears. A toolkit's branch is that of its driver. A
// cuda-compat package belongs to the branch of its CUDA. An EC2 type has the compute capability of its GPU and the last
// driver branch of its chip. Its first driver is that of its GPU, or the first branch of the chip; a fraction of a GPU
// needs AWS's own drivers. A type without NVSwitches of its own runs neither Fabric Manager nor the subnet manager:
// these run on the rack's switch trays.
func (d *Data) Derive() []Change {
	var changes []Change
	set := func(table, key, column, value string) {
		if value == "" || d.FindCell(table, column, key) == value && !d.isSetByHand(table, key, column) {
			return
		}
		if d.isSetByHand(table, key, column) {
			d.following[table+" "+key+" "+column] = value
			return
		}
		row := Row{Table: table, Cells: map[string]string{d.Grids[table].Columns[0]: key, column: value}}
		change := d.Compare(row)
		changes = append(changes, change)
		d.Apply(change)
	}
	branches := d.Grids["driver_branch"]
	for i := range branches.Rows[:max(0, len(branches.Rows)-1)] {
		if branches.Cell(i, "type") == "NFB" {
			set("driver_branch", branches.Cell(i, "branch"), "end_of_life", branches.Cell(i+1, "first_release"))
		}
	}
	byCUDA := map[string]string{}
	toolkits := d.Grids["cuda"]
	for i := range toolkits.Rows {
		branch, _, _ := strings.Cut(toolkits.Cell(i, "driver_linux"), ".")
		set("cuda", toolkits.Cell(i, "release"), "branch", branch)
		if branch = d.FindCell("cuda", "branch", toolkits.Cell(i, "release")); branch != "" {
			byCUDA[Shorten(toolkits.Cell(i, "release"))] = branch
		}
	}
	compat := d.Grids["forward_compat"]
	for i := range compat.Rows {
		set("forward_compat", compat.Cell(i, "package"), "branch", byCUDA[compat.Cell(i, "cuda")])
	}
	instances := d.Grids["ec2"]
	for i := range instances.Rows {
		if instances.Cell(i, "nvswitch") == "no" {
			set("ec2", instances.Cell(i, "instance"), "fabric_manager", "no")
			set("ec2", instances.Cell(i, "instance"), "nvlsm", "no")
		}
		if chip := d.chip(instances.Cell(i, "gpu")); chip >= 0 {
			set("ec2", instances.Cell(i, "instance"), "capability", d.Grids["gpu"].Cell(chip, "capability"))
			set("ec2", instances.Cell(i, "instance"), "last_branch", d.Grids["gpu"].Cell(chip, "last_branch"))
			if instances.Cell(i, "fraction") == "" {
				set("ec2", instances.Cell(i, "instance"), "first_branch",
					cmp.Or(d.firstDriver(instances.Cell(i, "gpu")), d.Grids["gpu"].Cell(chip, "first_branch")))
			}
		}
	}
	return changes
}

// firstDriver returns the oldest driver that is known to drive a product, by its name, or "" if its chip's first branch
// does.
func (d *Data) firstDriver(product string) string {
	first := ""
	g := d.Grids["product"]
	for i := range g.Rows {
		if g.Cell(i, "name") != product {
			continue
		}
		for _, driver := range strings.Fields(cmp.Or(g.Cell(i, "noted"), g.Cell(i, "listed"))) {
			known := driver != "none" && !strings.HasPrefix(driver, ">") && !strings.HasPrefix(driver, "?")
			if known && (first == "" || reading.CompareVersions(driver, first) < 0) {
				first = driver
			}
		}
	}
	return first
}

// chip returns the row of the chip of a product, -1 where none or several have it.
func (d *Data) chip(product string) int {
	found := -1
	g := d.Grids["gpu"]
	for i := range g.Rows {
		if slices.Contains(strings.Split(g.Cell(i, "names"), ";"), product) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// Apply makes a change in memory, so that later reads see it.
func (d *Data) Apply(c Change) {
	g := d.Grids[c.Table]
	i, found := slices.BinarySearchFunc(g.Rows, c.Key, func(row, key []string) int {
		return sheet.CompareKeys(row[:len(key)], key)
	})
	rows := slices.Clone(g.Rows)
	if found {
		rows[i] = c.New
	} else {
		rows = slices.Insert(rows, i, c.New)
	}
	g.Rows = rows
	d.Grids[c.Table] = g
}

// FindCell returns a cell in the row with a key of one column, or "".
func (d *Data) FindCell(table, column, key string) string {
	g := d.Grids[table]
	for i := range g.Rows {
		if g.Rows[i][0] == key {
			return g.Cell(i, column)
		}
	}
	return ""
}

// HasRow reports whether a table has a row with a key.
func (d *Data) HasRow(table, key string) bool {
	return slices.ContainsFunc(d.Grids[table].Rows, func(row []string) bool { return row[0] == key })
}

// HasEnded reports whether a driver branch is past its end: its rows change no more. A month lives to its end.
func (d *Data) HasEnded(branch string) bool {
	end := d.FindCell("driver_branch", "end_of_life", branch)
	today := time.Now().Format(time.DateOnly)
	return end != "" && today[:len(end)] > end || !d.HasRow("driver_branch", branch) && !d.comesLast(branch)
}

// comesLast reports whether a branch is newer than all that the table has: others that it lacks were left out.
func (d *Data) comesLast(branch string) bool {
	rows := d.Grids["driver_branch"].Rows
	return len(rows) == 0 || reading.CompareVersions(rows[len(rows)-1][0], branch) < 0
}

// isSetByHand reports whether a line of hand.csv sets a cell.
func (d *Data) isSetByHand(table, key, column string) bool {
	_, set := d.handCell(table, key, column)
	return set
}

// handCell returns the value of a cell in hand.csv.
func (d *Data) handCell(table, key, column string) (value string, set bool) {
	g := d.Grids["hand"]
	for i, row := range g.Rows {
		if row[0] == table && row[1] == key && row[2] == column {
			return g.Cell(i, "value"), true
		}
	}
	return "", false
}

// LackingByHand names the rows of which hand.csv speaks and that a table lacks.
func (d *Data) LackingByHand() []string {
	var list []string
	for _, row := range d.Grids["hand"].Rows {
		g, ok := d.Grids[row[0]]
		if ok && !slices.ContainsFunc(g.Rows, func(r []string) bool { return strings.Join(r[:g.Keys], " ") == row[1] }) {
			list = append(list, fmt.Sprintf("hand.csv: %s.csv has no row %s, of which a line sets %s", row[0], row[1], row[2]))
		}
	}
	return list
}

// PastReview returns the lines of hand.csv at which a person should have looked again.
func (d *Data) PastReview(today string) []string {
	var list []string
	g := d.Grids["hand"]
	for i, row := range g.Rows {
		if day := g.Cell(i, "review"); day < today[:len(day)] {
			list = append(list, fmt.Sprintf("hand.csv: %s %s, %s: look again, it was to be done by %s", row[0], row[1], row[2],
				day))
		}
	}
	return list
}
