package requires

import (
	"fmt"
	"slices"
	"strings"
)

// Capability is what holds for every GPU of one compute capability in hosts of one architecture: what schedulers
// can say that do not know a GPU's name.
type Capability struct {
	Capability, Arch string
	Drivers          Drivers
	Left             []string // sentences: what is left out, since only some GPUs of the capability take it
}

// ByCapability are the capabilities of which every GPU takes some driver. Nothing that the requirement does not admit
// is admitted by them.
func (r Requirement) ByCapability() []Capability {
	var list []Capability
	for _, g := range r.GPUs {
		i := slices.IndexFunc(list, func(c Capability) bool { return c.Capability == g.Capability && c.Arch == g.Arch })
		if i < 0 {
			i, list = len(list), append(list, Capability{Capability: g.Capability, Arch: g.Arch, Drivers: Drivers{{}}})
		}
		list[i].Drivers = common(list[i].Drivers, g.Drivers)
	}
	for i := range list {
		list[i].Left = r.leftOut(list[i])
	}
	return list
}

// leftOut names the GPUs that take more drivers than all of their capability do.
func (r Requirement) leftOut(c Capability) []string {
	var left []string
	for _, g := range r.GPUs {
		same := g.Capability == c.Capability && g.Arch == c.Arch
		if same && len(g.Names) > 0 && len(g.Drivers) > 0 && !slices.Equal(g.Drivers, c.Drivers) {
			drivers := g.Drivers.String()
			left = append(left, fmt.Sprintf("%s (%s): it would take the drivers %s", few(g.Names), c.Capability, drivers))
		}
	}
	return left
}

// few are the first of some names.
func few(names []string) string {
	if len(names) < 4 {
		return strings.Join(names, " and ")
	}
	return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
}
