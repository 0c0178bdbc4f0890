package requires

import "slices"

// Capability groups the GPUs of one compute capability in hosts of one architecture.
type Capability struct {
	Capability, Arch string
	GPUs             []GPU
	Drivers          Drivers // those that all of the GPUs take
	// Some is the set of drivers that at least one of the GPUs accepts. It is empty if another GPU accepts none.
	Some Drivers
}

// GroupByCapability groups the GPUs by capability and architecture.
func (r Requirement) GroupByCapability() []Capability {
	var list []Capability
	for _, g := range r.GPUs {
		i := slices.IndexFunc(list, func(c Capability) bool { return c.Capability == g.Capability && c.Arch == g.Arch })
		if i < 0 {
			list = append(list, Capability{g.Capability, g.Arch, []GPU{g}, g.Drivers, g.Drivers})
			continue
		}
		c := &list[i]
		c.GPUs, c.Drivers, c.Some = append(c.GPUs, g), intersect(c.Drivers, g.Drivers), union(c.Some, g.Drivers)
	}
	for i, c := range list {
		if slices.ContainsFunc(c.GPUs, func(g GPU) bool { return len(g.Drivers) == 0 }) {
			list[i].Some = Drivers{}
		}
	}
	return list
}

// Exceptions returns the GPUs that accept other drivers than the capability as a whole. An entry without names stands
// for all GPUs like it.
func (c Capability) Exceptions() []GPU {
	var list []GPU
	for _, g := range c.GPUs {
		like := func(o GPU) bool { return len(o.Names) == 0 && slices.Equal(o.Drivers, g.Drivers) }
		if slices.Equal(g.Drivers, c.Drivers) || len(g.Names) > 0 && slices.ContainsFunc(c.GPUs, like) {
			continue
		}
		list = append(list, g)
	}
	return list
}

// Different returns the names of the GPUs that accept other drivers than one of them does.
func (c Capability) Different(than GPU) []string {
	var names []string
	for _, g := range c.GPUs {
		if !slices.Equal(g.Drivers, than.Drivers) {
			names = append(names, g.Names...)
		}
	}
	return names
}
