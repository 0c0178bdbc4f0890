package matrix

import (
	"fmt"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
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

// cuts returns the drivers at which any rule's result can change, the first driver of each stretch: branches, the
// chip's first and last driver, what is published about the product, the minimum drivers of the builds, and what a
// cuda-compat library changes.
func cuts(m *model.Machine) []version.Number {
	list := []version.Number{version.Of("0")}
	add := func(v version.Number) {
		if v.Known() {
			list = append(list, v)
		}
	}
	branch := func(major int) {
		add(version.Of(fmt.Sprint(major)))
		add(version.Of(fmt.Sprint(major + 1)))
	}
	for _, b := range tables.Rows[tables.Branch](m.Tables) {
		branch(b.Number())
	}
	for _, f := range tables.Rows[tables.Forward](m.Tables) {
		for _, base := range slices.Concat(f.Base, f.Other) {
			branch(version.Int(base))
		}
	}
	for _, g := range m.GPUs {
		gpuCuts(m, g, add, branch)
	}
	for _, family := range tables.Rows[tables.Minor](m.Tables) {
		add(family.DriverLinux)
		add(family.DriverWindows)
	}
	for _, b := range m.Builds {
		for _, cuda := range append([]version.Number{b.CUDANumber}, cudas(b.Rows)...) {
			_, least, _ := m.Tables.Floor(cuda, m.WindowsNumbers())
			add(least)
		}
	}
	compatCuts(m, add, branch)
	advisoryCuts(m, add)
	imageCuts(m, branch)
	slices.SortFunc(list, version.Number.Compare)
	return slices.CompactFunc(list, func(a, b version.Number) bool { return a.Compare(b) == 0 })
}

// cudas returns the CUDA releases that the builds need.
func cudas(rows []model.Row) []version.Number {
	var list []version.Number
	for _, r := range rows {
		list = append(list, r.CUDA)
	}
	return list
}

// gpuCuts adds the drivers at which support for a GPU begins or ends.
func gpuCuts(m *model.Machine, g model.GPU, add func(version.Number), branch func(int)) {
	if g.Chip != nil {
		add(g.Chip.FirstBranch)
	}
	if last, _ := m.LastBranch(g); last.Known() {
		branch(last.Major())
	}
	for _, p := range model.Proven(m.ProductsOf(g)) {
		for _, v := range p.Mentioned() {
			branch(v.Major())
			add(v)
			add(v.Next())
		}
	}
}

// compatCuts adds the driver versions at which a cuda-compat library may change the answer: its own version, the next
// one, and the branches that it supports.
func compatCuts(m *model.Machine, add func(version.Number), branch func(int)) {
	for _, c := range m.Facts.Driver.Compat {
		v := version.Of(c.Version)
		add(v)
		add(v.Next())
		for _, b := range c.Branches {
			branch(b)
		}
	}
}

// driverClause matches what NVIDIA_REQUIRE_CUDA says about branches, "driver>=535".
var driverClause = lazyregexp.New(`driver[<>=]+(\d+)`)

// imageCuts adds the drivers that an image's NVIDIA_REQUIRE_CUDA names.
func imageCuts(m *model.Machine, branch func(int)) {
	for _, n := range m.RequestedPackages {
		if n.Image != nil {
			text, _, _ := n.Require()
			for _, clause := range driverClause.FindAllStringSubmatch(text, -1) {
				branch(version.Int(clause[1]))
			}
		}
	}
}

// advisoryCuts adds the drivers that the advisories name.
func advisoryCuts(m *model.Machine, add func(version.Number)) {
	for _, a := range tables.Rows[tables.Advisory](m.Tables) {
		for _, v := range a.When.Mentions("driver") {
			add(v)
			add(v.Next())
		}
	}
}
