package matrix

import (
	"fmt"
	"reflect"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
)

// kind is GPUs that every need judges alike.
type kind struct {
	capability version.Capability
	asked      string   // by which a target names one of them
	names      []string // none: any of the capability
}

// kinds are all GPUs of the tables: for each capability the one of which no more is known, then the chips' products.
func kinds(t *Tables) []kind {
	var list []kind
	at := map[string]int{}
	chips := tables.Rows[tables.Chip](t)
	for i := range chips {
		if c := chips[i].Capability; !slices.ContainsFunc(list, func(k kind) bool { return k.capability == c }) {
			list = append(list, kind{capability: c, asked: c.String()})
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
				list = append(list, kind{capability: chips[i].Capability, asked: name})
			}
			list[at[key]].names = append(list[at[key]].names, name)
		}
	}
	slices.SortStableFunc(list, func(a, b kind) int {
		return tables.CompareNaturally(a.capability.String(), b.capability.String())
	})
	return list
}

// alikeKey is everything by which needs tell a name from others.
func alikeKey(t *Tables, chip *tables.Chip, name string) string {
	g := model.GPU{Name: name, Chip: chip}
	key := fmt.Sprint(chip.Capability, chip.FirstCUDA, chip.FirstBranch, chip.LastBranch, g.DataCentre(),
		model.ArmGPU.MatchString(name))
	for _, p := range model.Proven(t.Products("", name)) {
		key += fmt.Sprint(p.Noted, p.Listed)
	}
	return key
}

// gathering is a requirement in the making.
type gathering struct {
	*requires.Requirement
	kinds []kind
	of    map[string][]int // by a need's key: the kinds that it holds for
}

// add writes down what one kind of GPU needs; kinds of a capability that need the same stand together.
func (r *gathering) add(k kind, d demand, m *model.Machine) {
	for _, n := range d.limits(m.GPUs[0].Label) {
		key := n.Key()
		if r.of[key] == nil {
			r.Needs = append(r.Needs, n)
		}
		r.of[key] = append(r.of[key], len(r.kinds))
	}
	r.kinds = append(r.kinds, k)
	g := d.gpu(m)
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

// sameNeeds reports whether two entries differ in nothing but names.
func sameNeeds(g, h requires.GPU) bool {
	g.Names, h.Names = nil, nil
	return reflect.DeepEqual(g, h)
}

// settle says of each need for which GPUs it holds: none where it is for all, else capabilities, or names where others
// of their capability need something else.
func (r *gathering) settle() {
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

// whole reports whether every kind of a capability is among some.
func (r *gathering) whole(c version.Capability, some []int) bool {
	for i, k := range r.kinds {
		if k.capability == c && !slices.Contains(some, i) {
			return false
		}
	}
	return true
}
