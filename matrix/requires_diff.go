package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"cudacompat/probe"
)

// RequirementDiff is what a new artefact needs otherwise than an old one.
type RequirementDiff struct {
	Old     string         `json:"old"` // the file or directory
	Changes []Change       `json:"changes"`
	Targets []TargetChange `json:"targets"` // those that were named
}

// Change is GPUs that take other drivers than before.
type Change struct {
	// "lost", "unknown" (no driver is admitted any more, for lack of a fact), "raised", "moved", "lowered", "gained"
	Kind         string        `json:"kind"`
	Capabilities []string      `json:"compute_capabilities"`
	GPUs         []string      `json:"gpus"`
	Old          []DriverRange `json:"old"`
	New          []DriverRange `json:"new"`
	Undecided    []DriverRange `json:"undecided"` // of the new artefact
	Because      []Need        `json:"because"`   // needs of the new artefact that refuse what the old one took
}

// TargetChange is how one target stood to the old artefact, and stands to the new one.
type TargetChange struct {
	Target string `json:"target"` // "p3.2xlarge, driver 535.183.01"
	Old    bool   `json:"old"`
	New    bool   `json:"new"`
	// Unknown reports that a fact is missing to tell whether the new one runs there.
	Unknown bool `json:"unknown"`
}

// Lost reports whether the old artefact ran there and the new one does not.
func (c TargetChange) Lost() bool { return c.Old && !c.New && !c.Unknown }

// Lost reports whether a named target is lost.
func (d RequirementDiff) Lost() bool { return slices.ContainsFunc(d.Targets, TargetChange.Lost) }

// Unknown reports whether it cannot be told of a named target if it is lost.
func (d RequirementDiff) Unknown() bool {
	return slices.ContainsFunc(d.Targets, func(c TargetChange) bool { return c.Old && c.Unknown })
}

// DiffRequirements compares what two artefacts need, GPU by GPU, the gravest change first.
func DiffRequirements(old, now Requirement) RequirementDiff {
	d := RequirementDiff{Old: old.Artefact, Changes: []Change{}, Targets: []TargetChange{}}
	for _, g := range now.GPUs {
		for _, name := range g.Names {
			was := old.of(name)
			if was == nil || slices.Equal(was.Drivers, g.Drivers) {
				continue
			}
			d.add(Change{Kind: changeKind(was.Drivers, g), Capabilities: []string{g.Capability}, GPUs: []string{name},
				Old: was.Drivers, New: g.Drivers, Undecided: g.Undecided,
				Because: now.refusing(g.Capability, name, was.Drivers)})
		}
	}
	order := []string{"lost", "unknown", "raised", "moved", "lowered", "gained"}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return d
}

// of is the entry of a GPU by its name.
func (r Requirement) of(name string) *RequiredGPU {
	i := slices.IndexFunc(r.GPUs, func(g RequiredGPU) bool { return slices.Contains(g.Names, name) })
	if i < 0 {
		return nil
	}
	return &r.GPUs[i]
}

// add puts a GPU's change to that of others which change alike.
func (d *RequirementDiff) add(c Change) {
	i := slices.IndexFunc(d.Changes, func(o Change) bool {
		return slices.Equal(o.Old, c.Old) && slices.Equal(o.New, c.New) && slices.Equal(o.Undecided, c.Undecided) &&
			slices.EqualFunc(o.Because, c.Because, func(a, b Need) bool { return a.key() == b.key() })
	})
	if i < 0 {
		d.Changes = append(d.Changes, c)
		return
	}
	o := &d.Changes[i]
	o.GPUs = append(o.GPUs, c.GPUs...)
	if !slices.Contains(o.Capabilities, c.Capabilities[0]) {
		o.Capabilities = append(o.Capabilities, c.Capabilities[0])
	}
}

func changeKind(old []DriverRange, g RequiredGPU) string {
	both := common(old, g.Drivers)
	switch {
	case len(g.Drivers) == 0 && len(common(old, g.Undecided)) > 0:
		return "unknown"
	case len(g.Drivers) == 0:
		return "lost"
	case len(old) == 0:
		return "gained"
	case slices.Equal(both, g.Drivers):
		return "raised"
	case slices.Equal(both, old):
		return "lowered"
	}
	return "moved"
}

// refusing are the needs that refuse drivers which were taken before, for one GPU.
func (r Requirement) refusing(capability, name string, before []DriverRange) []Need {
	list := []Need{}
	for _, n := range r.Needs {
		of := len(n.GPUs) == 0 || slices.Contains(n.GPUs, name) || slices.Contains(n.GPUs, capability)
		if of && len(before) > 0 && !slices.Equal(common(before, n.Drivers), before) {
			list = append(list, n)
		}
	}
	return list
}

// CompareTargets tells of each target whether the old artefact ran there, and whether the new one does. A target
// without a driver is one with any; one without a GPU is any machine with that driver.
func CompareTargets(t *Tables, old, now probe.Facts, targets []Target) []TargetChange {
	list := []TargetChange{}
	for _, target := range targets {
		before, _ := runsOn(t, old, target)
		after, unsure := runsOn(t, now, target)
		list = append(list, TargetChange{Target: target.words(), Old: before, New: after, Unknown: !after && unsure})
	}
	return list
}

func (target Target) words() string {
	words := cmp.Or(target.Instance, joinAnd(target.GPUs))
	switch {
	case target.Driver == "":
		return words
	case words == "":
		return "driver " + target.Driver
	}
	return fmt.Sprintf("%s, driver %s", words, target.Driver)
}

// driverless reports whether no driver makes a difference, as with a Tegra module's.
func (g RequiredGPU) driverless() bool { return all(g.Drivers) || all(g.Undecided) }

// runsOn reports whether an artefact runs on a target, and whether it cannot be told.
func runsOn(t *Tables, f probe.Facts, target Target) (runs, unsure bool) {
	var list []RequiredGPU
	if target.named() {
		list = []RequiredGPU{requiredOn(t, f, target)}
	} else {
		list = slices.DeleteFunc(Requires(t, f, target.Python).GPUs, RequiredGPU.driverless)
	}
	for _, g := range list {
		runs = runs || has(g.Drivers, target.Driver)
		unsure = unsure || has(g.Undecided, target.Driver)
	}
	return runs, unsure
}
