package resolver

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// IsEngine reports whether a package is an engine for which there are sets: each release requires one PyTorch, or few,
// and no other package brings it.
func IsEngine(t *tables.Tables, name string) bool {
	return t.Trait("pins-torch", name, version.Number{}) && !t.Trait("brought-by-engine", name, version.Number{})
}

// Engine computes the sets for one engine on one machine, for any driver.
type Engine struct {
	tables  *tables.Tables
	facts   facts.Facts
	target  hardware.Target
	want    []pin.Want
	refuses Refuses
	asked   map[string]engineSet // by branch
}

// NewEngine returns the sets for one engine on the machine of the facts, with a target over it.
func NewEngine(t *tables.Tables, f facts.Facts, target hardware.Target, want pin.Want, refuses Refuses) *Engine {
	f.Complete()
	return &Engine{tables: t, facts: f, target: target, want: []pin.Want{want}, refuses: refuses, asked: map[string]engineSet{}}
}

// On computes the sets for one driver, the target's or another: the newest release that runs on it, the newest of all
// on the lowest maintained branch that runs it, and that release on the newest branch.
func (e *Engine) On(driver string) pin.Sets {
	target := e.target
	target.Driver = driver
	m := model.NewMachine(e.tables, &e.facts, target, verdict.Policy{})
	s := engineSets{Engine: e, m: m, sets: emptySets(m, e.want)}
	if len(m.GPUs) > 0 {
		s.sets.Ends = pins.FindEnds(m, "")
		if m.Windows() {
			s.noWheel()
			return s.sets
		}
		kept := s.on(m)
		s.keep(kept)
		s.change(kept)
	}
	return s.sets
}

// engineSets collects the sets for an engine and a driver.
type engineSets struct {
	*Engine
	m    *model.Machine
	sets pin.Sets
}

// engineSet is the set for one driver. none says why there is none.
type engineSet struct {
	pin.Set
	none *pin.None
}

func (e *engineSets) on(m *model.Machine) engineSet {
	set, none := together(m, e.want, e.refuses)
	return engineSet{set, none}
}

// branch returns the set on the newest driver of a branch.
func (e *engineSets) branch(b *tables.Branch) engineSet {
	s, ok := e.asked[b.Branch]
	if !ok {
		s = e.on(e.m.On(b.Newest))
		e.asked[b.Branch] = s
	}
	return s
}

// keep adds the set that keeps the driver.
func (e *engineSets) keep(kept engineSet) {
	if kept.none != nil {
		e.missing(pin.KeepDriver, kept.none)
		return
	}
	kept.Choice = pin.KeepDriver
	kept.Why = "runs on " + e.m.DriverWords() + fromIndex(kept.Set)
	e.sets.Sets = append(e.sets.Sets, kept.Set)
}

// fromIndex names the project's own index of a set, such as "; from https://wheels.vllm.ai/0.30.0/cu129", or returns
// "".
func fromIndex(s pin.Set) string {
	if own, _, several := strings.Cut(s.Extra, " "); several {
		return "; from " + own
	}
	return ""
}

func (e *engineSets) missing(c pin.Choice, none *pin.None) {
	n := *none
	n.Choice = c
	e.sets.Missing = append(e.sets.Missing, n)
}

// noWheel reports for every choice that the engine has no wheel for this platform.
func (e *engineSets) noWheel() {
	none := &pin.None{Why: "the tables have no wheel of " + e.want[0].Package + " for " + e.m.Platform + "; " + model.InWSL, Source: []string{}}
	for _, c := range []pin.Choice{pin.KeepDriver, pin.SmallestDriver, pin.Newest} {
		e.missing(c, none)
	}
}

// lowest adds the newest set of all, on the lowest maintained branch that runs it.
func (e *engineSets) lowest(c pin.Choice) {
	top, best := e.best()
	if best.none != nil {
		e.missing(c, best.none)
		return
	}
	low := e.lowestBranch(top, best)
	set := e.branch(low).Set
	set.Why = ""
	if !e.m.Driver().Version.Known() {
		set.Why = "the driver is unknown; "
	}
	set.Why += pins.ExplainBranch(e.m, low)
	e.add(c, set, low)
}

// best returns the newest branch that supports the GPUs, and the set on it.
func (e *engineSets) best() (*tables.Branch, engineSet) {
	top := pins.NewestBranch(e.m, model.Row{})
	if top == nil {
		return nil, engineSet{none: &pin.None{Why: pins.ExplainNoBranch(e.m, ""), Source: []string{}}}
	}
	return top, e.branch(top)
}

// lowestBranch returns the lowest maintained branch whose set is as new as the best one, otherwise top.
func (e *engineSets) lowestBranch(top *tables.Branch, best engineSet) *tables.Branch {
	return cmp.Or(pins.DriverBranch(e.m, func(b *tables.Branch) bool { return pins.IsMaintained(e.m, b) && e.branch(b).sameAs(best) }), top)
}

// sameAs reports whether two sets have the same release of the requested package.
func (s engineSet) sameAs(other engineSet) bool {
	return s.none == nil && s.Packages[0].Version == other.Packages[0].Version
}

// change adds the sets that may change the driver.
func (e *engineSets) change(kept engineSet) {
	top, best := e.best()
	if best.none != nil {
		e.missing(pin.SmallestDriver, best.none)
		e.missing(pin.Newest, best.none)
		return
	}
	if !kept.sameAs(best) {
		e.lowest(pin.SmallestDriver)
	} else {
		kept.Why = "the driver can stay"
		e.add(pin.SmallestDriver, kept.Set, nil)
	}
	if kept.sameAs(best) && e.m.Driver().Version.Major() >= top.Number() {
		kept.Why = e.newestWords(kept) + "; the driver can stay"
		e.add(pin.Newest, kept.Set, nil)
		return
	}
	best.Why = e.newestWords(best) + ", " + pins.DescribeNewest(e.m, top)
	e.add(pin.Newest, best.Set, top)
}

// newestWords names the release of a set as the newest one, of all or of those that fit the machine.
func (e *engineSets) newestWords(s engineSet) string {
	words := "the newest release of " + e.want[0].Package
	if e.want[0].Specifier == "" && slices.ContainsFunc(pins.EngineRows(e.m, e.want[0].Package), func(row tables.Extension) bool {
		release, _ := version.ParseRelease(row.Release)
		return release.Final() && pins.CompareReleases(row.Release, s.Packages[0].Version) > 0
	}) {
		words += " that fits this machine"
	}
	return words
}

// add adds a set with the driver that it needs.
func (e *engineSets) add(c pin.Choice, s pin.Set, branch *tables.Branch) {
	s.Choice, s.Source = c, slices.Clone(s.Source)
	if branch != nil {
		pins.AddDriver(e.m, &s, branch)
	}
	e.sets.Sets = append(e.sets.Sets, s)
}
