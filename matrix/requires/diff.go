package requires

import (
	"cmp"
	"slices"
)

// Diff lists what a new artefact needs differently than an old one.
type Diff struct {
	Old     string         `json:"old"` // the file or directory
	Changes []Change       `json:"changes"`
	Targets []TargetChange `json:"targets"` // those that were named
	Images  []ImageChange  `json:"images"`  // whose NVIDIA_REQUIRE_CUDA rose
	// OldUnknown lists what is unknown about the old artefact. What it accepted, and therefore what is lost, is then
	// unknown.
	OldUnknown []Missing `json:"old_unknown"`
}

// ImageChange is a base image that requires a newer CUDA than the previous one. Hosts are lost only if a runtime in
// legacy or csv mode starts the image; CDI mode checks nothing.
type ImageChange struct {
	Old        string `json:"old"` // "nvidia/cuda:12.8.0-base-ubuntu22.04"
	New        string `json:"new"`
	OldRequire string `json:"old_require"` // "cuda>=12.8"; empty: none
	NewRequire string `json:"new_require"`
}

// Change groups GPUs whose accepted drivers changed in the same way.
type Change struct {
	// "lost", "unknown" (no driver is accepted any more because a fact is missing), "raised", "moved", "lowered" or
	// "gained".
	Kind         string   `json:"kind"`
	Capabilities []string `json:"compute_capabilities"`
	Arch         string   `json:"arch,omitempty"` // of the hosts, "x86_64" or "aarch64"; empty: of both
	GPUs         []string `json:"gpus"`
	Old          Drivers  `json:"old"`
	New          Drivers  `json:"new"`
	Undecided    Drivers  `json:"undecided"` // of the new artefact
	Because      []Need   `json:"because"`   // needs of the new artefact that refuse what the old one took
}

// TargetChange says whether one target ran the old artefact, and whether it runs the new one.
type TargetChange struct {
	Target string `json:"target"` // "p3.2xlarge, driver 535.183.01"
	Old    bool   `json:"old"`
	New    bool   `json:"new"`
	// Unknown reports that a fact is missing to say whether the new artefact runs there.
	Unknown bool `json:"unknown"`
}

// Lost reports whether the old artefact ran there and the new one does not.
func (c TargetChange) Lost() bool { return c.Old && !c.New && !c.Unknown }

// Lost reports whether a named target is lost.
func (d Diff) Lost() bool { return slices.ContainsFunc(d.Targets, TargetChange.Lost) }

// Unknown reports whether facts are missing to say if a named target is lost.
func (d Diff) Unknown() bool {
	return len(d.OldUnknown) > 0 || slices.ContainsFunc(d.Targets, func(c TargetChange) bool { return c.Old && c.Unknown })
}

// Compare compares the needs of two artefacts, GPU by GPU, most serious change first. It assumes that the image
// provides to the new artefact whatever the old one expected from it.
func Compare(old, now Requirement) Diff { return compare(old, now, old.ImageNeeds()) }

// CompareProjects compares the needs of two states of one project. The project's image is
// rebuilt with the project, so it provides what the new state expects of an image.
func CompareProjects(old, now Requirement) Diff {
	return compare(old, now, slices.Concat(old.ImageNeeds(), now.ImageNeeds()))
}

func compare(old, now Requirement, brought []string) Diff {
	d := Diff{Old: old.Artefact, Changes: []Change{}, Targets: []TargetChange{}, Images: []ImageChange{},
		OldUnknown: old.Missing()}
	for _, g := range now.GPUs {
		g = g.Given(now.ImageNeeds(), brought)
		for _, name := range g.Names {
			was := old.ForGPU(name)
			if was == nil || slices.Equal(was.Provided, g.Drivers) {
				continue
			}
			d.add(Change{Kind: changeKind(was.Provided, g), Arch: g.Arch, Capabilities: []string{g.Capability}, GPUs: []string{name},
				Old: was.Provided, New: g.Drivers, Undecided: g.Undecided,
				Because: now.refusingNeeds(g.Capability, name, was.Provided, brought)})
		}
	}
	order := []string{"lost", "unknown", "raised", "moved", "lowered", "gained"}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return d
}

// add adds a GPU to the change that it shares with others.
func (d *Diff) add(c Change) {
	i := slices.IndexFunc(d.Changes, func(o Change) bool {
		return slices.Equal(o.Old, c.Old) && slices.Equal(o.New, c.New) && slices.Equal(o.Undecided, c.Undecided) &&
			slices.EqualFunc(o.Because, c.Because, func(a, b Need) bool { return a.Key() == b.Key() })
	})
	if i < 0 {
		d.Changes = append(d.Changes, c)
		return
	}
	o := &d.Changes[i]
	o.GPUs = append(o.GPUs, c.GPUs...)
	if o.Arch != c.Arch {
		o.Arch = ""
	}
	if !slices.Contains(o.Capabilities, c.Capabilities[0]) {
		o.Capabilities = append(o.Capabilities, c.Capabilities[0])
	}
}

// changeKind names the kind of a change of accepted drivers.
func changeKind(old Drivers, g GPU) string {
	both := intersect(old, g.Drivers)
	switch {
	case len(g.Drivers) == 0 && len(intersect(old, g.Undecided)) > 0:
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

// refusingNeeds returns the needs that refuse previously accepted drivers for one GPU, in an image that provides some
// things itself.
func (r Requirement) refusingNeeds(capability, name string, before Drivers, brought []string) []Need {
	list := []Need{}
	for _, n := range r.Needs {
		if n.Kind == OfImage && slices.Contains(brought, n.Need) {
			continue
		}
		if n.HoldsFor(capability, name) && len(before) > 0 && !slices.Equal(intersect(before, n.Drivers), before) {
			list = append(list, n)
		}
	}
	return list
}
