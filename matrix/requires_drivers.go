package matrix

import (
	"slices"
	"strconv"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/requires"
)

// ranges joins adjacent stretches of drivers that meet the needs in one of the given ways.
func ranges(cuts []version.Number, meets []meeting, wanted ...meeting) requires.Drivers {
	list := requires.Drivers{}
	for i, v := range cuts {
		switch wants := slices.Contains(wanted, meets[i]); {
		case wants && (i == 0 || !slices.Contains(wanted, meets[i-1])):
			from := v.String()
			if i == 0 {
				from = ""
			}
			list = append(list, requires.Range{From: from})
		case !wants && i > 0 && slices.Contains(wanted, meets[i-1]):
			list[len(list)-1].Before = v.String()
		}
	}
	return list
}

// tableCuts returns the drivers at which the result of a rule can change whatever is judged: the branches, the minimum
// drivers of CUDA's families, and the drivers that advisories name.
func tableCuts(t *Tables) []version.Number {
	list := cutList{version.ParseOrZero("0")}
	for _, b := range tables.Rows[tables.Branch](t) {
		list.addBranch(b.Number())
	}
	for _, f := range tables.Rows[tables.Forward](t) {
		for _, base := range slices.Concat(f.Base, f.Other) {
			list.addBranch(version.Int(base))
		}
	}
	for _, family := range tables.Rows[tables.Minor](t) {
		list.add(family.DriverLinux)
		list.add(family.DriverWindows)
	}
	for _, a := range tables.Rows[tables.Advisory](t) {
		for _, v := range a.When.Mentions("driver") {
			list.addWithNext(v)
		}
	}
	return list.sorted()
}

// cuts returns the drivers at which any rule's result can change, the first driver of each stretch: those of the
// tables, the chip's first and last driver, what is published about the product, the minimum drivers of the builds, and
// what a cuda-compat library changes.
func cuts(m *model.Machine, ofTables []version.Number) []version.Number {
	list := cutList(slices.Clone(ofTables))
	for _, g := range m.GPUs {
		list.addGPU(m, g)
	}
	for _, b := range m.Builds {
		for _, cuda := range append([]version.Number{b.CUDANumber}, cudas(b.Rows)...) {
			_, least, _ := m.Tables.Floor(cuda, m.WindowsNumbers())
			list.add(least)
		}
	}
	list.addCompat(m)
	list.addImages(m)
	return list.sorted()
}

// cutList is a list of drivers, in any order.
type cutList []version.Number

// sorted returns the list in order, without repetitions.
func (list cutList) sorted() []version.Number {
	slices.SortFunc(list, version.Number.Compare)
	return slices.CompactFunc(list, func(a, b version.Number) bool { return a.Compare(b) == 0 })
}

// add adds a driver, unless it is not known.
func (list *cutList) add(v version.Number) {
	if v.Known() {
		*list = append(*list, v)
	}
}

// addWithNext adds a driver and the first one after it.
func (list *cutList) addWithNext(v version.Number) {
	list.add(v)
	list.add(v.Next())
}

// addBranch adds the first driver of a branch and the first one after it.
func (list *cutList) addBranch(major int) {
	list.add(version.ParseOrZero(strconv.Itoa(major)))
	list.add(version.ParseOrZero(strconv.Itoa(major + 1)))
}

// cudas returns the CUDA releases that the builds need.
func cudas(rows []model.Row) []version.Number {
	var list []version.Number
	for _, r := range rows {
		list = append(list, r.CUDA)
	}
	return list
}

// addGPU adds the drivers at which support for a GPU begins or ends.
func (list *cutList) addGPU(m *model.Machine, g hardware.GPU) {
	if g.Chip != nil {
		list.add(g.Chip.FirstBranch)
	}
	if last, _ := m.LastBranch(g); last.Known() {
		list.addBranch(last.Major())
	}
	for _, p := range hardware.Proven(m.ProductsOf(g)) {
		for _, v := range p.Mentioned() {
			list.addBranch(v.Major())
			list.addWithNext(v)
		}
	}
}

// addCompat adds the driver versions at which a cuda-compat library may change the answer: its own version, the next
// one, and the branches that it supports.
func (list *cutList) addCompat(m *model.Machine) {
	for _, c := range m.Facts.Driver.Compat {
		list.addWithNext(version.ParseOrZero(c.Version))
		for _, b := range c.Branches {
			list.addBranch(b)
		}
	}
}

// driverClause matches what a clause says about branches, "driver>=535".
var driverClause = lazyregexp.New(`driver[<>=]+(\d+)`)

// addImages adds the branches that an image's NVIDIA_REQUIRE_CUDA names, and those after them.
func (list *cutList) addImages(m *model.Machine) {
	for _, n := range m.Requested {
		if n.Image == nil {
			continue
		}
		for _, branch := range n.Image.RequiredBranches() {
			list.addBranch(branch)
		}
		for _, clause := range driverClause.FindAllStringSubmatch(n.Image.Require, -1) {
			list.addBranch(version.Int(clause[1]))
		}
	}
}
