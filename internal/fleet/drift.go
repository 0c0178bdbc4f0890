package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Drift is a thing in which the nodes of one group differ.
type Drift struct {
	Rule     string           `json:"rule"` // "fleet-drift"
	Severity verdict.Severity `json:"severity"`
	Group    string           `json:"group"`
	What     string           `json:"what"`   // "driver", "CUDA", "torch", "NCCL of torch"
	Usual    string           `json:"usual"`  // what most nodes have; empty where as many have another
	Values   []Value          `json:"values"` // the most common first
}

// Value is one of the values, and who has it.
type Value struct {
	Value string   `json:"value"`
	Nodes []string `json:"nodes"`
}

// Message says the drift in a sentence.
func (d Drift) Message() string {
	var words []string
	for i, v := range d.Values {
		if i == 4 && len(d.Values) > 5 {
			words = append(words, fmt.Sprintf("%d others", len(d.Values)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s on %d", v.Value, len(v.Nodes)))
	}
	return fmt.Sprintf("group %s: %s differs: %s", d.Group, d.What, strings.Join(words, ", "))
}

// Step returns what makes the nodes alike.
func (d Drift) Step() string {
	if d.Usual == "" {
		return "give all nodes of the group one release of " + d.What
	}
	return "give these nodes " + d.What + " " + d.Usual + ", as most of the group have"
}

// Alike reports whether the same nodes differ in two components, in the same groups. The number of other nodes with the
// usual value may differ, because not every node has every component.
func (d Drift) Alike(other Drift) bool {
	return d.Group == other.Group && (d.Usual == "") == (other.Usual == "") &&
		slices.EqualFunc(d.unusual(), other.unusual(), func(a, b Value) bool { return slices.Equal(a.Nodes, b.Nodes) })
}

// unusual returns the values that most nodes do not have.
func (d Drift) unusual() []Value {
	return slices.DeleteFunc(slices.Clone(d.Values), func(v Value) bool { return v.Value == d.Usual })
}

// Outliers returns the nodes that do not have what most have.
func (d Drift) Outliers() []string {
	var list []string
	for _, v := range d.unusual() {
		list = append(list, v.Nodes...)
	}
	slices.Sort(list)
	return list
}

// trait is one thing in which nodes of a group are to be alike.
type trait struct {
	what, value string
	severity    verdict.Severity
}

// traitsOf returns the parts of a node's stack. Ranks of one job with different NCCL do not talk to each other; the
// rest is a risk.
func traitsOf(t *matrix.Tables, f *facts.Facts, target matrix.Target) []trait {
	var list []trait
	for _, p := range matrix.Components(t, f, target) {
		what, severity := p.Name, verdict.Warning
		if p.Name == "NCCL" {
			what, severity = "NCCL of "+p.Of, verdict.Error
		}
		list = append(list, trait{what, p.Version, severity})
	}
	return list
}

var severityRank = map[verdict.Severity]int{verdict.Error: 0, verdict.Warning: 1}

// drift compares the nodes of each group. It skips unknown values, and nodes with an error, because the error's step
// changes what they have.
func (j *Judge) drift() []Drift {
	type thing struct{ group, what string }
	have := map[thing]map[string][]string{}
	severity := map[string]verdict.Severity{}
	for _, kind := range j.order {
		if kind.Outcome == verdict.Incompatible {
			continue
		}
		for _, n := range kind.Nodes {
			if n.Group == "" {
				continue
			}
			for _, t := range kind.traits {
				at := thing{n.Group, t.what}
				if have[at] == nil {
					have[at] = map[string][]string{}
				}
				have[at][t.value] = append(have[at][t.value], n.Node)
				severity[t.what] = t.severity
			}
		}
	}
	list := []Drift{}
	for at, values := range have {
		if len(values) > 1 {
			list = append(list, driftOf(at.group, at.what, severity[at.what], values))
		}
	}
	slices.SortFunc(list, func(a, b Drift) int {
		return cmp.Or(severityRank[a.Severity]-severityRank[b.Severity],
			strings.Compare(a.Group, b.Group), strings.Compare(a.What, b.What))
	})
	return list
}

func driftOf(group, what string, severity verdict.Severity, values map[string][]string) Drift {
	d := Drift{Rule: "fleet-drift", Severity: severity, Group: group, What: what}
	for _, value := range slices.Sorted(maps.Keys(values)) {
		slices.Sort(values[value])
		d.Values = append(d.Values, Value{value, values[value]})
	}
	slices.SortStableFunc(d.Values, func(a, b Value) int { return len(b.Nodes) - len(a.Nodes) })
	if len(d.Values[0].Nodes) > len(d.Values[1].Nodes) {
		d.Usual = d.Values[0].Value
	}
	return d
}
