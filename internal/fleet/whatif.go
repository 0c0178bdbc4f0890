package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// WhatIf is a driver or a framework that replaces what the nodes have.
type WhatIf struct {
	Text   string        // "driver=590.48.01", "torch==2.14.1+cu130"
	Driver string        // empty: their own
	Builds []facts.Build // frameworks; they take the place of those of their name
}

// withChange returns a node with what is asked.
func withChange(f facts.Facts, list []WhatIf) (facts.Facts, matrix.Target) {
	var target matrix.Target
	for _, w := range list {
		if w.Driver != "" {
			target.Driver = w.Driver
		}
		for _, b := range w.Builds {
			f = withBuild(f, b)
		}
	}
	return f, target
}

// withBuild replaces the builds with b's name by b. It removes packages installed beside them, because they would be
// upgraded, too.
func withBuild(f facts.Facts, b facts.Build) facts.Facts {
	f.Environments = slices.Clone(f.Environments)
	for i := range f.Environments {
		e := &f.Environments[i]
		if slices.ContainsFunc(e.Builds, func(o facts.Build) bool { return o.Name == b.Name }) {
			e.Builds, e.Packages, e.Assemblers, e.Requested = []facts.Build{b}, []facts.Package{}, []facts.Assembler{}, nil
		}
	}
	return f
}

// Plan is what a change would cost, and the smallest one beside it that costs nothing.
type Plan struct {
	Breaks []Broken `json:"breaks"` // nodes that are incompatible with the change, and were not
	Mends  []string `json:"mends"`  // nodes that are compatible with the change, and were incompatible
	// Worsens lists nodes that are incompatible in both cases, with the rules of the errors that the change adds.
	Worsens []Broken `json:"worsens,omitempty"`
	// Warns lists nodes that are not incompatible with the change, with the rules of the warnings that it adds.
	Warns []Broken `json:"warns,omitempty"`
	// Driver is the release of a maintained branch, nearest to the requested one, with which no further node is broken,
	// or "".
	Driver string `json:"driver"`
	// Without are the nodes to leave out, where no one driver does for all.
	Without []string `json:"without"`
	Why     string   `json:"why"`
}

// Broken is a node with the rules that break it.
type Broken struct {
	Node  string   `json:"node"`
	Rules []string `json:"rules"`
}

// candidates returns the drivers that a fleet could have instead: the newest release of each maintained branch.
func (j *Judge) candidates() []string {
	today := j.tables.Date()
	if j.policy.Today != "" {
		today = j.policy.Today
	}
	var list []string
	for _, b := range tables.Rows[tables.Branch](j.tables) {
		if b.Newest.Known() && (b.EndOfLife == "" && b.Type != "NFB" || b.EndOfLife > today) {
			list = append(list, b.Newest.String())
		}
	}
	return list
}

// bearable reports for each candidate whether a kind would be healthy with it, including the change in question.
func (j *Judge) bearable(ctx context.Context, f facts.Facts, now verdict.Verdict) map[string]bool {
	bears := map[string]bool{"": now.Outcome != verdict.Incompatible}
	for _, driver := range j.candidates() {
		v := matrix.Check(ctx, j.tables, f, []matrix.Target{{Driver: driver}}, j.policy)
		bears[driver] = v.Outcome != verdict.Incompatible
	}
	return bears
}

// plan names who breaks, and the nearest driver with which nobody does.
func (j *Judge) plan() *Plan {
	if len(j.whatIf) == 0 {
		return nil
	}
	p := &Plan{Breaks: []Broken{}, Mends: []string{}, Without: []string{}}
	still := 0 // nodes that are incompatible without the change, and with it
	for _, kind := range j.order {
		for _, n := range kind.Nodes {
			switch {
			case kind.Outcome == verdict.Incompatible && kind.Was != verdict.Incompatible:
				p.Breaks = append(p.Breaks, Broken{n.Node, kind.breaking()})
			case kind.Outcome == verdict.Incompatible:
				still++
				if added := kind.addedErrors(); len(added) > 0 {
					p.Worsens = append(p.Worsens, Broken{n.Node, added})
				}
			case kind.Outcome == verdict.Compatible && kind.Was == verdict.Incompatible:
				p.Mends = append(p.Mends, n.Node)
			}
			if added := kind.addedWarnings(); kind.Outcome != verdict.Incompatible && len(added) > 0 {
				p.Warns = append(p.Warns, Broken{n.Node, added})
			}
		}
	}
	byNode := func(a, b Broken) int { return strings.Compare(a.Node, b.Node) }
	slices.SortFunc(p.Breaks, byNode)
	slices.SortFunc(p.Worsens, byNode)
	slices.SortFunc(p.Warns, byNode)
	slices.Sort(p.Mends)
	if len(p.Breaks) == 0 {
		p.Why = "it breaks no node"
		switch {
		case still == 1:
			p.Why += " that works today; 1 node stays incompatible"
		case still > 1:
			p.Why += fmt.Sprintf(" that works today; %d nodes stay incompatible", still)
		}
		switch n := len(p.Worsens); {
		case n == 1 && still == 1:
			p.Why += ", with a further error"
		case n == still && n > 0:
			p.Why += ", all with a further error"
		case n > 0:
			p.Why += fmt.Sprintf(", %d of them with a further error", n)
		}
		switch n := len(p.Warns); {
		case n == 1:
			p.Why += "; 1 node gets a further warning"
		case n > 1:
			p.Why += fmt.Sprintf("; %d nodes get a further warning", n)
		}
		return p
	}
	j.choose(p)
	return p
}

// breaking returns the rules of a kind's errors.
func (k *draft) breaking() []string { return k.rulesOf(verdict.Error) }

// rulesOf returns the rules of a kind's findings of one severity.
func (k *draft) rulesOf(s verdict.Severity) []string {
	rules := []string{}
	for _, f := range k.Findings {
		if f.Severity == s && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// addedWarnings returns the rules of a kind's warnings that it did not have without the change.
func (k *draft) addedWarnings() []string {
	return slices.DeleteFunc(k.rulesOf(verdict.Warning), func(rule string) bool { return slices.Contains(k.hadWarnings, rule) })
}

// addedErrors returns the rules of a kind's errors that it did not have without the change.
func (k *draft) addedErrors() []string {
	return slices.DeleteFunc(k.breaking(), func(rule string) bool { return slices.Contains(k.hadErrors, rule) })
}

// choose picks the candidate that breaks no further node: the nearest to the requested driver, otherwise the oldest. If
// there is none, it names the nodes to exclude.
func (j *Judge) choose(p *Plan) {
	asked := ""
	for _, w := range j.whatIf {
		asked = w.Driver
	}
	for _, driver := range nearestFirst(j.candidates(), asked) {
		breaks := func(k *draft) bool { return len(k.Nodes) > 0 && k.Was != verdict.Incompatible && !k.bears[driver] }
		if !slices.ContainsFunc(j.order, breaks) {
			p.Driver, p.Why = driver, fmt.Sprintf("with driver %s it breaks no node", driver)
			return
		}
	}
	for _, n := range p.Breaks {
		p.Without = append(p.Without, n.Node)
	}
	p.Why = "no maintained driver suits all nodes: leave out those that it breaks"
}

// nearestFirst orders drivers: those older than asked, newest first, then the newer ones. Without asked, the oldest
// comes first.
func nearestFirst(list []string, asked string) []string {
	at := slices.IndexFunc(list, func(d string) bool { return !version.ParseOrZero(d).Less(version.ParseOrZero(asked)) })
	if asked == "" || at < 0 {
		at = 0
		if asked != "" {
			at = len(list)
		}
	}
	older := slices.Clone(list[:at])
	slices.Reverse(older)
	return append(older, list[at:]...)
}

// Check says what is wrong with the driver that is asked about.
func (w WhatIf) Check() error {
	if w.Driver != "" && (matrix.Target{Driver: w.Driver}).Check(nil) != nil {
		return fmt.Errorf("%q is not a driver version such as 580.95.05", w.Driver)
	}
	return nil
}
