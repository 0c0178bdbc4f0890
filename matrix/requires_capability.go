package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"cudacompat/internal/version"
)

// CapabilityNeed is what holds for every GPU of one compute capability in hosts of one architecture: what schedulers
// can say that do not know a GPU's name.
type CapabilityNeed struct {
	Capability, Arch string
	Drivers          []DriverRange
	Left             []string // sentences: what is left out, since only some GPUs of the capability take it
}

// ByCapability are the capabilities of which every GPU takes some driver. Nothing that the requirement does not admit
// is admitted by them.
func (r Requirement) ByCapability() []CapabilityNeed {
	var list []CapabilityNeed
	for _, g := range r.GPUs {
		i := slices.IndexFunc(list, func(c CapabilityNeed) bool { return c.Capability == g.Capability && c.Arch == g.Arch })
		if i < 0 {
			i, list = len(list), append(list, CapabilityNeed{Capability: g.Capability, Arch: g.Arch, Drivers: []DriverRange{{}}})
		}
		list[i].Drivers = common(list[i].Drivers, g.Drivers)
	}
	for i := range list {
		list[i].Left = r.leftOut(list[i])
	}
	return list
}

// leftOut names the GPUs that take more drivers than all of their capability do.
func (r Requirement) leftOut(c CapabilityNeed) []string {
	var left []string
	for _, g := range r.GPUs {
		same := g.Capability == c.Capability && g.Arch == c.Arch
		if same && len(g.Names) > 0 && len(g.Drivers) > 0 && !slices.Equal(g.Drivers, c.Drivers) {
			drivers := RangeWords(g.Drivers)
			left = append(left, fmt.Sprintf("%s (%s): it would take the drivers %s", few(g.Names), c.Capability, drivers))
		}
	}
	return left
}

// few are the first of some names.
func few(names []string) string {
	if len(names) < 4 {
		return joinAnd(names)
	}
	return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
}

// common are the drivers that are in both lists of ranges.
func common(a, b []DriverRange) []DriverRange {
	list := []DriverRange{}
	for _, x := range a {
		for _, y := range b {
			r := DriverRange{From: later(x.From, y.From), Before: x.Before}
			if r.Before == "" || y.Before != "" && version.Of(y.Before).Less(version.Of(r.Before)) {
				r.Before = y.Before
			}
			if r.Before == "" || version.Of(r.From).Less(version.Of(r.Before)) || r.From == "" {
				list = append(list, r)
			}
		}
	}
	return list
}

func later(a, b string) string {
	if version.Of(a).Less(version.Of(b)) {
		return b
	}
	return a
}

// RangeWords are ranges of drivers for people: ">= 525.60.13", "361 to 580", ">= 580.65.06".
func RangeWords(list []DriverRange) string {
	var words []string
	for _, r := range list {
		words = append(words, r.String())
	}
	if len(words) == 0 {
		return "none"
	}
	return joinAnd(words)
}

// String is a range for people. A range that ends with a branch names its last one; one that begins with a branch that
// is a family's floor names its first release.
func (r DriverRange) String() string {
	from, before := r.From, version.Of(r.Before)
	if from == "580" {
		from = "580.65.06"
	}
	switch {
	case r == DriverRange{}:
		return "any"
	case r.Before == "":
		return ">= " + from
	case before.Parts() == 1 && r.From == "":
		return fmt.Sprintf("<= %d", before.Major()-1)
	case before.Parts() == 1 && version.Of(r.From).Major() == before.Major()-1:
		return fmt.Sprintf("%d from %s on", before.Major()-1, from)
	case before.Parts() == 1:
		return fmt.Sprintf("%s to %d", from, before.Major()-1)
	}
	return cmp.Or(from, "0") + " to before " + r.Before
}

// WholeBranches are the known driver branches all of whose releases are in some ranges; left says of which only a part
// is.
func (r Requirement) WholeBranches(list []DriverRange) (branches, left []string) {
	for _, b := range r.branches {
		whole := []DriverRange{{From: b, Before: fmt.Sprint(version.Int(b) + 1)}}
		switch in := common(list, whole); {
		case slices.Equal(in, whole):
			branches = append(branches, b)
		case len(in) > 0:
			left = append(left, fmt.Sprintf("driver branch %s, of which only %s will do", b, RangeWords(in)))
		}
	}
	return branches, left
}
