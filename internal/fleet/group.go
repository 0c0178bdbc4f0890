package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Group is a set of nodes with one outcome, cause and step, as shown on a screen. Each judged node is in one group.
type Group struct {
	Outcome verdict.Outcome `json:"outcome"`
	Rules   []string        `json:"rules"`   // of the errors, or of what is not known; empty: nothing is wrong
	Message string          `json:"message"` // the first error, or the fact that is missing, as most nodes have it, and others
	Step    string          `json:"step"`    // what mends one of the nodes; empty: nothing is known to
	Nodes   []string        `json:"nodes"`
}

// cause is a group in the making.
type cause struct {
	Group
	key string
}

// causeOf returns why a kind has its outcome. The step is worked out once for each cause: it takes as long as a
// verdict.
func (j *Judge) causeOf(f facts.Facts, v verdict.Verdict, again func(verdict.Policy) verdict.Verdict) *cause {
	c := &cause{Group: Group{Outcome: v.Outcome, Rules: []string{}}}
	var needs []string
	switch v.Outcome {
	case verdict.Incompatible:
		for _, e := range errorsOf(v) {
			needs = append(needs, e.Rule+" "+e.Need)
			if !slices.Contains(c.Rules, e.Rule) {
				c.Rules = append(c.Rules, e.Rule)
			}
		}
	case verdict.Inconclusive:
		for _, u := range v.Unknown[:min(len(v.Unknown), 1)] {
			needs, c.Rules = []string{u.Rule + " " + u.Missing}, []string{u.Rule}
		}
	}
	slices.Sort(needs)
	c.key = string(v.Outcome) + "\n" + strings.Join(slices.Compact(needs), "\n")
	for _, e := range f.Environments { // each user has a path of his own
		c.key = strings.ReplaceAll(c.key, e.Path, "")
	}
	if known := j.causes[c.key]; known != nil {
		return known
	}
	if v.Outcome == verdict.Incompatible {
		policy := j.policy
		policy.NoPins = false
		if list := errorsOf(again(policy)); len(list) > 0 {
			c.Step = step(list[0])
		}
	}
	j.causes[c.key] = c
	return c
}

// messageOf returns why a verdict is what it is, in a sentence.
func messageOf(v verdict.Verdict) string {
	switch {
	case v.Outcome == verdict.Incompatible:
		return errorsOf(v)[0].Message
	case v.Outcome == verdict.Inconclusive && len(v.Unknown) > 0:
		return v.Unknown[0].Subject + ": not known: " + v.Unknown[0].Missing
	}
	return ""
}

// messages counts the nodes of a group by their message.
type messages map[string]int

// sayings is how many messages of a group are shown.
const sayings = 3

// words returns the message of most nodes, and the others with the number of their nodes.
func (m messages) words() string {
	list := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(m[b]-m[a], strings.Compare(a, b)) })
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	var parts []string
	for i, text := range list {
		if i == sayings && len(list) > sayings+1 {
			parts = append(parts, fmt.Sprintf("%d other messages", len(list)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", text, m[text]))
	}
	return strings.Join(parts, "; ")
}

// errorsOf returns a verdict's errors, in its order.
func errorsOf(v verdict.Verdict) []verdict.Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f verdict.Finding) bool { return f.Severity != verdict.Error })
}

// step returns the fix for a finding: the release that changes least, otherwise the steps of the first way, in words.
func step(f verdict.Finding) string {
	switch {
	case len(f.Pins) > 0:
		return "install " + f.Pins[0].Package + " " + f.Pins[0].Version
	case len(f.Steps) > 0:
		var list []string
		for _, s := range pin.Ways(f.Steps)[0] {
			text := s.Say
			if s.Run != "" {
				text = strings.TrimSuffix("run `"+s.Run+"`: "+s.Say, ": ")
			}
			list = append(list, text)
		}
		return strings.Join(list, "; then ")
	}
	return ""
}

// verdicts returns a kind as it is judged, with and without steps.
func (j *Judge) verdicts(ctx context.Context, f facts.Facts, targets []matrix.Target) (verdict.Verdict, *cause) {
	check := func(p verdict.Policy) verdict.Verdict { return matrix.Check(ctx, j.tables, f, targets, p) }
	v := check(j.policy)
	return v, j.causeOf(f, v, check)
}

// groups puts every node into its group, the worst first, then the most common. A node that differs from the others of
// its group in what makes their jobs fail is of its drift's, unless it has an error of its own.
func (j *Judge) groups(drifts []Drift) []Group {
	at := map[string]*Group{}
	said := map[*Group]messages{}
	drifting := map[string]*Group{}
	for _, d := range drifts {
		if d.Severity != verdict.Error {
			continue
		}
		g := &Group{Outcome: verdict.Incompatible, Rules: []string{d.Rule}, Message: d.Message(), Step: d.Step()}
		at[g.Message] = g
		for _, name := range d.Outliers() {
			if drifting[name] == nil {
				drifting[name] = g
			}
		}
	}
	for _, kind := range j.order {
		for _, n := range kind.Nodes {
			g := drifting[n.Node]
			if g == nil || kind.Outcome == verdict.Incompatible {
				if g = at[kind.cause.key]; g == nil {
					g = &Group{kind.cause.Outcome, kind.cause.Rules, "", kind.cause.Step, nil}
					at[kind.cause.key], said[g] = g, messages{}
				}
				if kind.why != "" {
					said[g][kind.why]++
				}
			}
			g.Nodes = append(g.Nodes, n.Node)
		}
	}
	list := []Group{}
	for _, g := range at {
		if len(g.Nodes) > 0 {
			slices.Sort(g.Nodes)
			g.Message = cmp.Or(said[g].words(), g.Message)
			list = append(list, *g)
		}
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(outcomeRank[b.Outcome]-outcomeRank[a.Outcome], len(b.Nodes)-len(a.Nodes),
			strings.Compare(strings.Join(a.Rules, " "), strings.Join(b.Rules, " ")), strings.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return list
}
