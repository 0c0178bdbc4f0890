package requires

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// Range is a range of driver versions, from the first one to before the last one.
type Range struct {
	From   string `json:"from"`   // "525.60.13"; empty: from the oldest on
	Before string `json:"before"` // "581"; empty: without end
}

// Has reports whether a driver is in the range.
func (r Range) Has(driver version.Number) bool {
	return driver.Known() && !driver.Less(version.ParseOrZero(r.From)) && (r.Before == "" || driver.Less(version.ParseOrZero(r.Before)))
}

// Drivers is a set of drivers, as ranges from the oldest on.
type Drivers []Range

// Has reports whether a driver is in the set.
func (d Drivers) Has(driver string) bool {
	return slices.ContainsFunc(d, func(r Range) bool { return r.Has(version.ParseOrZero(driver)) })
}

// Any reports whether the set contains every driver.
func (d Drivers) Any() bool { return len(d) == 1 && d[0] == Range{} }

// intersect returns the drivers that are in both sets.
func intersect(a, b Drivers) Drivers {
	list := Drivers{}
	for _, x := range a {
		for _, y := range b {
			r := Range{From: later(x.From, y.From), Before: x.Before}
			if r.Before == "" || y.Before != "" && version.ParseOrZero(y.Before).Less(version.ParseOrZero(r.Before)) {
				r.Before = y.Before
			}
			if r.Before == "" || version.ParseOrZero(r.From).Less(version.ParseOrZero(r.Before)) || r.From == "" {
				list = append(list, r)
			}
		}
	}
	return list
}

// union returns the drivers that are in one of two sets.
func union(a, b Drivers) Drivers {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Range) int { return version.CompareTexts(x.From, y.From) })
	list := Drivers{}
	for _, r := range all {
		last := len(list) - 1
		switch {
		case last < 0 || list[last].Before != "" && version.ParseOrZero(list[last].Before).Less(version.ParseOrZero(r.From)):
			list = append(list, r)
		case list[last].Before != "" && (r.Before == "" || version.ParseOrZero(list[last].Before).Less(version.ParseOrZero(r.Before))):
			list[last].Before = r.Before
		}
	}
	return list
}

// subtract returns the drivers of a set that are not in another one.
func subtract(list, others Drivers) Drivers {
	for _, o := range others {
		outside := Drivers{}
		if o.From != "" {
			outside = append(outside, Range{Before: o.From})
		}
		if o.Before != "" {
			outside = append(outside, Range{From: o.Before})
		}
		list = intersect(list, outside)
	}
	return list
}

// later returns the later of two range ends.
func later(a, b string) string {
	if version.ParseOrZero(a).Less(version.ParseOrZero(b)) {
		return b
	}
	return a
}

// String formats the set for people: ">= 525.60.13", "361 to branch 580", ">= 570.211.02 and < 575, or >= 575.57.08".
func (d Drivers) String() string { return d.On("") }

// On formats the set for people, on hosts of one architecture: "x86_64", "win_amd64".
func (d Drivers) On(arch string) string {
	var words []string
	for _, r := range d {
		words = append(words, r.on(arch))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", or ")
}

// String formats a range for people. A range that ends with a branch names its last branch. A range that begins at the
// minimum driver of a CUDA major version names that Linux release.
func (r Range) String() string { return r.on("") }

func (r Range) on(arch string) string {
	from, before := r.From, version.ParseOrZero(r.Before)
	// A requirement is read without tables. TestFloorIsPrintedAlike compares this with CUDA 13's row. NVIDIA names no
	// release of branch 580 for Windows.
	if from == "580" && !strings.HasPrefix(arch, "win_") {
		from = "580.65.06"
	}
	last := before.Major() - 1
	switch {
	case r == Range{}:
		return "any"
	case r.Before == "":
		return ">= " + from
	case r.From == "" && endsBranch(before):
		return fmt.Sprintf("up to branch %d", last)
	case r.From == "":
		return "< " + r.Before
	case !endsBranch(before):
		return ">= " + from + " and < " + r.Before
	case version.ParseOrZero(r.From).Major() == last:
		return fmt.Sprintf(">= %s of branch %d", from, last)
	}
	return fmt.Sprintf("%s to branch %d", from, last)
}

// endsBranch reports whether a range that ends before this version ends with a whole branch: branch numbers are nearly
// always multiples of five.
func endsBranch(before version.Number) bool { return before.Parts() == 1 && before.Major()%5 != 0 }
