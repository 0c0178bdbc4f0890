package matrix

import (
	"fmt"
	"reflect"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
)

// gpuKind groups GPUs that every need judges alike.
type gpuKind struct {
	capability version.Capability
	asked      string   // by which a target names one of them
	names      []string // none: any of the capability
	key        string   // kinds with equal keys have equal needs
}

// allKinds returns all GPUs of the tables: for each capability a generic GPU, then the products of its chips.
func allKinds(t *Tables) []gpuKind {
	var list []gpuKind
	at := map[string]int{}
	chips := tables.Rows[tables.Chip](t)
	for i := range chips {
		if c := chips[i].Capability; !slices.ContainsFunc(list, func(k gpuKind) bool { return k.capability == c }) {
			list = append(list, gpuKind{capability: c, asked: c.String(), key: alikeKey(t, t.ChipOf(c), "")})
		}
	}
	for i := range chips {
		for _, name := range chips[i].Names {
			if t.ChipNamed(name) != &chips[i] {
				continue
			}
			key := alikeKey(t, &chips[i], name)
			if _, ok := at[key]; !ok {
				at[key] = len(list)
				list = append(list, gpuKind{capability: chips[i].Capability, asked: name, key: key})
			}
			list[at[key]].names = append(list[at[key]].names, name)
		}
	}
	slices.SortStableFunc(list, func(a, b gpuKind) int {
		return sheet.CompareNaturally(a.capability.String(), b.capability.String())
	})
	return list
}

// alikeKey returns everything by which needs distinguish GPUs.
func alikeKey(t *Tables, chip *tables.Chip, name string) string {
	g := hardware.GPU{Name: name, Chip: chip}
	key := fmt.Sprint(chip.Capability, chip.FirstCUDA, chip.FirstBranch, chip.LastBranch, g.DataCentre(),
		hardware.ArmGPU.MatchString(name))
	for _, p := range hardware.Proven(t.Products("", name)) {
		key += fmt.Sprint(p.Noted, p.Listed)
	}
	return key
}

// gathering builds a requirement.
type gathering struct {
	*requires.Requirement
	kinds []gpuKind
	of    map[string][]int // by a need's key: the kinds that it holds for
}

// add adds what one kind of GPU needs. Kinds of a capability with equal needs share an entry.
func (r *gathering) add(k gpuKind, a artefactOn) {
	d, m := a.demand, a.machine
	for _, n := range d.limits(m.GPUs[0].Label) {
		key := n.Key()
		if r.of[key] == nil {
			r.Needs = append(r.Needs, n)
		}
		r.of[key] = append(r.of[key], len(r.kinds))
	}
	r.kinds = append(r.kinds, k)
	g := d.published(m)
	same := slices.IndexFunc(r.GPUs, func(other requires.GPU) bool {
		return len(k.names) > 0 && len(other.Names) > 0 && sameNeeds(other, g)
	})
	if same >= 0 {
		r.GPUs[same].Names = append(r.GPUs[same].Names, k.names...)
		return
	}
	g.Names = verdict.OrEmpty(k.names)
	r.GPUs = append(r.GPUs, g)
}

// sameNeeds reports whether two entries differ only in names.
func sameNeeds(g, h requires.GPU) bool {
	g.Names, h.Names = nil, nil
	return reflect.DeepEqual(g, h)
}

// assignGPUs records for each need the GPUs to which it applies: none if it applies to all, else capabilities, or
// product names if other products of the capability need something else.
func (r *gathering) assignGPUs() {
	for i := range r.Needs {
		of := r.of[r.Needs[i].Key()]
		r.Needs[i].GPUs = []string{}
		if len(of) == len(r.kinds) {
			continue
		}
		if r.Needs[i].Missing == "" { // another GPU would do with the same image
			r.Needs[i].Kind = requires.OfHost
		}
		for _, at := range of {
			k := r.kinds[at]
			words := k.names
			if r.whole(k.capability, of) || len(words) == 0 {
				words = []string{k.capability.String()}
			}
			for _, w := range words {
				if !slices.Contains(r.Needs[i].GPUs, w) {
					r.Needs[i].GPUs = append(r.Needs[i].GPUs, w)
				}
			}
		}
	}
}

// whole reports whether a list has every kind of a capability.
func (r *gathering) whole(c version.Capability, some []int) bool {
	for i, k := range r.kinds {
		if k.capability == c && !slices.Contains(some, i) {
			return false
		}
	}
	return true
}
