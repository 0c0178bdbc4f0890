package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// truth is what was done to which node.
type truth struct {
	rule  map[string]string           // by node: the rule that finds its fault
	drift map[string]string           // by "group what": the node that stands out
	stale map[string]bool             // nodes whose documents are old, or do not tell their age
	bad   map[int]func([]byte) []byte // by place: how the line is spoilt
}

// spoil puts each fault and drift on a node of its own, wherever chance has it.
func (p *pool) spoil(r *rand.Rand) truth {
	t := truth{map[string]string{}, map[string]string{}, map[string]bool{}, map[int]func([]byte) []byte{}}
	places := r.Perm(p.n)
	next := func(group string, change func(*document)) string {
		i := slices.IndexFunc(places, func(place int) bool { return p.group(place) == group })
		place := places[i]
		places = slices.Delete(places, i, i+1)
		p.changes[place] = change
		return nodeName(place)
	}
	for _, fault := range faults {
		name := next("pool-0", func(d *document) {
			fault.bad(&d.Facts)
			d.Group = "" // drift has cases of its own
		})
		t.rule[name] = fault.rule
	}
	for _, d := range drifts {
		t.drift[d.group+" "+d.what] = next(d.group, func(node *document) { d.change(&node.Facts) })
	}
	for _, taken := range []string{"2026-11-19T12:00:00Z", "yesterday"} {
		t.stale[next("pool-9", func(d *document) { d.Taken = taken })] = true
	}
	for _, cut := range []func([]byte) []byte{
		func(line []byte) []byte { return line[:len(line)/2] },
		func(line []byte) []byte { return bytes.Replace(line, []byte("facts/v1"), []byte("facts/v9"), 1) },
	} {
		t.bad[places[0]], places = cut, places[1:]
	}
	return t
}

// compare lists what was not found, and what was found that is not there.
func (t truth) compare(got fleetReport) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, k := range got.Kinds {
		var rules []string
		for _, f := range k.Findings {
			if !slices.Contains(rules, f.Rule) {
				rules = append(rules, f.Rule)
			}
		}
		for _, n := range k.Nodes {
			switch want := t.rule[n.Node]; {
			case want == "" && (len(rules) > 0 || k.Outcome != "compatible"):
				complain("%s is sound, and is called %s for %v", n.Node, k.Outcome, rules)
			case want != "" && strings.Join(rules, " ") != want:
				complain("%s has %s, and is called %s for %v", n.Node, want, k.Outcome, rules)
			}
		}
	}
	for _, d := range got.Drift {
		at := d.Group + " " + d.What
		for _, v := range d.Values {
			if v.Value != d.Usual && !slices.Equal(v.Nodes, []string{t.drift[at]}) {
				complain("drift of %s: %v stand out, not %q", at, v.Nodes, t.drift[at])
			}
		}
	}
	if len(got.Drift) != len(t.drift) {
		complain("%d drifts of %d: %v", len(got.Drift), len(t.drift), got.Drift)
	}
	for _, s := range got.Stale {
		if !t.stale[s.Node] {
			complain("%s is called stale", s.Node)
		}
	}
	if len(got.Stale) != len(t.stale) || len(got.Unread) != len(t.bad) {
		complain("%d stale of %d, %d not judged of %d", len(got.Stale), len(t.stale), len(got.Unread), len(t.bad))
	}
	return wrong
}
