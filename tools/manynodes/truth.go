package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// truth is what was done to which node.
type truth struct {
	faults map[string]fault            // by node
	drift  map[string][]string         // by "severity group what": the nodes that stand out, names for each value
	stale  map[string]bool             // nodes whose documents are old, or do not tell their age
	bad    map[int]func([]byte) []byte // by place: how the line is spoilt
}

// spoiled are documents that cannot be judged.
var spoiled = []func([]byte) []byte{
	func(line []byte) []byte { return line[:len(line)/2] },
	func(line []byte) []byte { return bytes.Replace(line, []byte("facts/v1"), []byte("facts/v9"), 1) },
	func([]byte) []byte { return []byte("null") },
	func([]byte) []byte { return []byte(`{"node":"n1","group":"pool-0","facts":null}`) },
	func([]byte) []byte { return []byte(`["node"]`) },
	func([]byte) []byte { return []byte("ssh: connect to host n1 port 22: No route to host") },
}

// spoil puts each fault, look-alike and drift on nodes of their own, wherever chance has them.
func (p *pool) spoil(r *rand.Rand) truth {
	t := truth{map[string]fault{}, map[string][]string{}, map[string]bool{}, map[int]func([]byte) []byte{}}
	places := r.Perm(p.n)
	next := func(group string, change func(*document)) string {
		i := slices.IndexFunc(places, func(place int) bool { return p.group(place) == group })
		place := places[i]
		places = slices.Delete(places, i, i+1)
		p.changes[place] = change
		return nodeName(place)
	}
	for _, fault := range slices.Concat(faults, moreFaults, lookAlikes) {
		name := next(cmp.Or(fault.group, "pool-0"), func(d *document) {
			fault.bad(&d.Facts)
			d.Group = "" // drift has cases of its own
		})
		t.faults[name] = fault
	}
	for _, d := range slices.Concat(drifts, alike) {
		var nodes []string
		for range d.nodes {
			nodes = append(nodes, next(d.group, func(node *document) { d.change(&node.Facts) }))
		}
		if slices.Sort(nodes); d.severity != "" {
			at := d.severity + " " + d.group + " " + d.what
			t.drift[at] = append(t.drift[at], strings.Join(nodes, " "))
		}
	}
	for _, taken := range []string{"2026-11-19T12:00:00Z", "yesterday"} {
		t.stale[next("pool-9", func(d *document) { d.Taken = taken })] = true
	}
	for _, spoil := range spoiled {
		t.bad[places[0]], places = spoil, places[1:]
	}
	return t
}

// compare lists the faults that were not found and the findings that no fault explains.
func (t truth) compare(got fleetReport) []string {
	wrong := t.compareDrift(got)
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := 0
	for _, k := range got.Kinds {
		found, outcome := k.found(), k.Outcome
		for _, n := range k.Nodes {
			fault, has := t.faults[n.Node]
			if has {
				seen++
			}
			if want, wanted := fault.expected(); found != want || outcome != wanted {
				complain("%s (%q) is called %s for %q; it is %s for %q", n.Node, fault.name, outcome, found, wanted, want)
			}
		}
	}
	if seen != len(t.faults) {
		complain("%d of %d nodes with a fault or a look-alike are in the report", seen, len(t.faults))
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

// expected returns the findings that must be there, and the outcome.
func (f fault) expected() (find, outcome string) {
	switch {
	case f.find == "?":
		return "", "inconclusive"
	case strings.Contains(f.find, "E "):
		return f.find, "incompatible"
	default:
		return f.find, "compatible"
	}
}

// found returns a kind's errors and warnings by name, as a fault lists them.
func (k kind) found() string {
	var list []string
	for _, f := range k.Findings {
		list = append(list, strings.ToUpper(f.Severity[:1])+" "+f.Rule)
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return strings.Join(slices.Compact(list), ", ")
}

func (t truth) compareDrift(got fleetReport) []string {
	found := map[string][]string{}
	for _, d := range got.Drift {
		at := d.Severity + " " + d.Group + " " + d.What
		for _, v := range d.Values {
			if v.Value != d.Usual {
				slices.Sort(v.Nodes)
				found[at] = append(found[at], strings.Join(v.Nodes, " "))
			}
		}
	}
	var wrong []string
	for _, at := range slices.Sorted(maps.Keys(t.drift)) {
		if !sameNames(found[at], t.drift[at]) {
			wrong = append(wrong, fmt.Sprintf("drift %s: %q stand out, not %q", at, found[at], t.drift[at]))
		}
		delete(found, at)
	}
	for at, nodes := range found {
		wrong = append(wrong, fmt.Sprintf("drift %s: %q stand out, and nothing differs", at, nodes))
	}
	return wrong
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
