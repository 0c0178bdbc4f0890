package matrix

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cudacompat/probe"
)

// FleetSchema names the form of Fleet in JSON. Fields may be added under the same name, never renamed.
const FleetSchema = "cudacompat/fleet/v1"

// Node is what one node of a fleet was found to be.
type Node struct {
	Name  string
	Group string // nodes of one group are to be alike; empty: of none
	Taken string // RFC 3339; empty: not known
	Facts probe.Facts
}

// Fleet is what is known of many nodes.
type Fleet struct {
	Schema  string           `json:"schema"`
	WhatIf  []string         `json:"what_if"` // what the nodes were judged with instead of what they have
	Outcome Outcome          `json:"outcome"` // the worst node's
	Nodes   int              `json:"nodes"`
	Kinds   []FleetKind      `json:"kinds"` // the worst first, then the most common
	Drift   []Drift          `json:"drift"`
	Stale   []StaleNode      `json:"stale"`
	Unread  []UnreadDocument `json:"unread"`
	Plan    *FleetPlan       `json:"plan"` // null without a question
}

// FleetKind is nodes that are equal in everything that is judged.
type FleetKind struct {
	Nodes    []FleetNode    `json:"nodes"`
	Outcome  Outcome        `json:"outcome"`
	Was      Outcome        `json:"was"` // without what if; the same where nothing is asked
	Driver   string         `json:"driver"`
	CUDA     string         `json:"cuda"`
	GPUs     []string       `json:"gpus"`
	Answers  []BuildAnswer  `json:"answers"`
	Findings []FleetFinding `json:"findings"` // errors and warnings
	Unknown  []Missing      `json:"unknown"`
}

// FleetNode is one node by name.
type FleetNode struct {
	Node  string `json:"node"`
	Group string `json:"group"`
	Taken string `json:"taken"`
}

// FleetFinding is what is wrong with a kind, in short; `check` on one of its documents tells the rest.
type FleetFinding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"`
	Message  string   `json:"message"`
	Need     string   `json:"need"`
}

// UnreadDocument is a document that could not be judged.
type UnreadDocument struct {
	Document string `json:"document"` // "nodes.jsonl:17"
	Reason   string `json:"reason"`
}

// fleetKind is a kind in the making.
type fleetKind struct {
	FleetKind
	traits []trait
	bears  map[string]bool // by driver: whether no error stands with it
}

// FleetJudge judges nodes one after the other: of those that are equal the first.
type FleetJudge struct {
	tables *Tables
	policy Policy
	whatIf []WhatIf
	kinds  map[fleetKey]*fleetKind
	order  []*fleetKind
	nodes  map[string]placed
	unread []UnreadDocument
}

// placed is where a node went.
type placed struct {
	kind *fleetKind
	node FleetNode
}

// NewFleetJudge judges by the tables, for the nodes as they are or with what is asked.
func NewFleetJudge(t *Tables, policy Policy, whatIf []WhatIf) *FleetJudge {
	return &FleetJudge{tables: t, policy: policy, whatIf: whatIf, kinds: map[fleetKey]*fleetKind{},
		nodes: map[string]placed{}}
}

// Add judges one node. Of two documents of one node the later counts, of equally old ones the second.
func (j *FleetJudge) Add(ctx context.Context, n Node) {
	settle(&n.Facts)
	key := keyOf(&n.Facts)
	kind := j.kinds[key]
	if kind == nil {
		kind = j.judge(ctx, n.Facts)
		j.kinds[key] = kind
		j.order = append(j.order, kind)
	}
	node := FleetNode{n.Name, n.Group, n.Taken}
	if old, twice := j.nodes[n.Name]; twice && old.node.Taken > n.Taken {
		return
	}
	j.nodes[n.Name] = placed{kind, node}
}

// Refuse notes a document that could not be read.
func (j *FleetJudge) Refuse(document, reason string) {
	j.unread = append(j.unread, UnreadDocument{document, reason})
}

// judge judges one kind, as it is and with what is asked.
func (j *FleetJudge) judge(ctx context.Context, f probe.Facts) *fleetKind {
	f.Complete()
	v := Check(ctx, j.tables, f, nil, j.policy)
	kind := &fleetKind{traits: traitsOf(j.tables, &f)}
	kind.Was = v.Outcome
	if len(j.whatIf) > 0 {
		given, target := supposed(f, j.whatIf)
		v = Check(ctx, j.tables, given, []Target{target}, j.policy)
		kind.bears = j.bearable(ctx, given, v)
	}
	kind.Outcome = v.Outcome
	kind.Driver, kind.CUDA, kind.GPUs = v.Judged[0].Driver, v.Judged[0].CUDA, v.Judged[0].GPUs
	kind.Answers, kind.Unknown = v.Answers, v.Unknown
	kind.Findings = []FleetFinding{}
	for _, f := range v.Findings {
		if f.Severity != Note {
			kind.Findings = append(kind.Findings, FleetFinding{f.Rule, f.Severity, f.Subject, f.Message, f.Need})
		}
	}
	return kind
}

// Fleet is what was found; stale names the nodes whose documents are old (StaleAfter).
func (j *FleetJudge) Fleet(stale func([]FleetNode) []StaleNode) Fleet {
	f := Fleet{Schema: FleetSchema, WhatIf: []string{}, Outcome: Compatible, Nodes: len(j.nodes), Kinds: []FleetKind{},
		Drift: []Drift{}, Stale: []StaleNode{}, Unread: orEmpty(j.unread)}
	for _, w := range j.whatIf {
		f.WhatIf = append(f.WhatIf, w.Text)
	}
	all := j.gather()
	for _, kind := range j.order {
		if len(kind.Nodes) > 0 {
			f.Kinds = append(f.Kinds, kind.FleetKind)
			f.Outcome = worseOutcome(f.Outcome, kind.Outcome)
		}
	}
	slices.SortStableFunc(f.Kinds, func(a, b FleetKind) int {
		return cmp.Or(outcomeRank[b.Outcome]-outcomeRank[a.Outcome], len(b.Nodes)-len(a.Nodes))
	})
	f.Drift = j.drift()
	if len(f.Kinds) == 0 {
		f.Outcome = Inconclusive
	}
	if slices.ContainsFunc(f.Drift, func(d Drift) bool { return d.Severity == Error }) {
		f.Outcome = Incompatible
	}
	f.Stale = orEmpty(stale(all))
	f.Plan = j.plan()
	return f
}

// gather puts the nodes to their kinds, in the order of their names.
func (j *FleetJudge) gather() []FleetNode {
	var all []FleetNode
	for _, p := range j.nodes {
		p.kind.Nodes = append(p.kind.Nodes, p.node)
		all = append(all, p.node)
	}
	for _, kind := range j.order {
		slices.SortFunc(kind.Nodes, compareNodes)
	}
	slices.SortFunc(all, compareNodes)
	return all
}

func compareNodes(a, b FleetNode) int { return strings.Compare(a.Node, b.Node) }

var outcomeRank = map[Outcome]int{Compatible: 0, Inconclusive: 1, Incompatible: 2}

func worseOutcome(a, b Outcome) Outcome {
	if outcomeRank[b] > outcomeRank[a] {
		return b
	}
	return a
}
