// Package fleet judges many machines: which are alike, what is wrong, where nodes of one group differ, and what a new
// driver or framework would break.
//
// A Judge takes nodes one after the other (Add) and keeps one verdict for all that are equal in everything that
// matters. Summary returns the result.
package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// schema names the form of Summary in JSON. Fields may be added under the same name, never renamed.
const schema = "cudacompat/fleet/v1"

// Node is what one node of a fleet was found to be.
type Node struct {
	Name  string
	Group string // nodes of one group are to be alike; empty: of none
	Taken string // RFC 3339; empty: not known
	Facts facts.Facts
}

// Summary is what is known of many nodes.
type Summary struct {
	Schema  string          `json:"schema"`
	WhatIf  []string        `json:"what_if"` // what the nodes were judged with instead of what they have
	Outcome verdict.Outcome `json:"outcome"` // the worst node's
	Nodes   int             `json:"nodes"`
	Groups  []Group         `json:"groups"`
	Kinds   []Kind          `json:"kinds"` // the worst first, then the most common
	Drift   []Drift         `json:"drift"`
	Stale   []Stale         `json:"stale"`
	Twice   []string        `json:"twice"`  // nodes of whose documents nobody knows which is the newest: the worst counts
	Unread  []Unread        `json:"unread"` // the first; More counts the others
	More    int             `json:"more_unread,omitempty"`
	Missing []string        `json:"missing"` // nodes of the inventory of which there is no document
	Beyond  []string        `json:"beyond"`  // nodes that the inventory does not name; none without an inventory
	Plan    *Plan           `json:"plan"`    // null without a question
}

// Kind is nodes that are equal in everything that is judged.
type Kind struct {
	Nodes    []Member              `json:"nodes"`
	Outcome  verdict.Outcome       `json:"outcome"`
	Was      verdict.Outcome       `json:"was"` // without what if; the same where nothing is asked
	Driver   string                `json:"driver"`
	CUDA     string                `json:"cuda"`
	GPUs     []string              `json:"gpus"`
	Answers  []verdict.BuildAnswer `json:"answers"`
	Findings []Finding             `json:"findings"` // errors and warnings
	Unknown  []verdict.Missing     `json:"unknown"`
}

// Member is one node by name.
type Member struct {
	Node  string `json:"node"`
	Group string `json:"group"`
	Taken string `json:"taken"`
}

// Finding is a short form of what is wrong with a kind of node. `check` on one of its documents shows the rest.
type Finding struct {
	Rule     string           `json:"rule"`
	Severity verdict.Severity `json:"severity"`
	Subject  string           `json:"subject"`
	Message  string           `json:"message"`
	Need     string           `json:"need"`
	URL      string           `json:"url,omitempty"` // of the rule's page; empty where Policy.Site is
}

// Unread is a document that could not be judged.
type Unread struct {
	Document string `json:"document"` // "nodes.jsonl:17"
	Node     string `json:"node"`     // empty: it does not say
	Reason   string `json:"reason"`
}

// draft is a kind in the making.
type draft struct {
	Kind
	traits []trait
	cause  *cause
	why    string          // the message of the first error, or of what is not known
	bears  map[string]bool // by driver: whether the kind has no error with it

	hadErrors []string // the rules of its errors without the change
	// the rules of its warnings without the change
	hadWarnings []string
}

// Judge judges nodes one after the other: of those that are equal the first.
type Judge struct {
	tables *matrix.Tables
	policy verdict.Policy
	whatIf []WhatIf
	kinds  map[digest]*draft
	order  []*draft
	nodes  map[string]placement
	causes map[string]*cause
	twice  map[string]bool
	now    time.Time // what is dated after it replaces nothing that is worse
	unread []Unread
	more   int // documents that could not be read, beside those
	expect []string
}

// placement is where a node went.
type placement struct {
	kind *draft
	node Member
}

// NewJudge judges by the tables, for the nodes as they are or with what is asked.
func NewJudge(t *matrix.Tables, policy verdict.Policy, whatIf []WhatIf) *Judge {
	policy.NoPins = true // a kind's findings are told in short
	return &Judge{tables: t, policy: policy, whatIf: whatIf, kinds: map[digest]*draft{},
		nodes: map[string]placement{}, causes: map[string]*cause{}, twice: map[string]bool{}, now: time.Now()}
}

// Judged is the result for a node, reusable for equal ones.
type Judged struct{ kind *draft }

// AddAlike adds a node whose facts are judged as those of another were.
func (j *Judge) AddAlike(as *Judged, n Node) { j.place(as.kind, Member{n.Name, n.Group, n.Taken}) }

// Add judges one node. Of two documents for one node the later counts. If their times do not show which that is, the
// worse counts, so that a document with a future date cannot hide today's error. If the context ends before the node is
// judged, the node counts as not judged, and Add returns nil.
func (j *Judge) Add(ctx context.Context, n Node) *Judged {
	matrix.Normalize(&n.Facts)
	key := keyOf(&n.Facts)
	kind := j.kinds[key]
	if kind == nil {
		if kind = j.judge(ctx, n.Facts); kind == nil {
			j.Refuse(n.Name, n.Name, "it was not judged: "+context.Cause(ctx).Error())
			return nil
		}
		j.kinds[key] = kind
		j.order = append(j.order, kind)
	}
	j.place(kind, Member{n.Name, n.Group, n.Taken})
	return &Judged{kind}
}

// place puts a node to its kind, unless another document of it counts.
func (j *Judge) place(kind *draft, node Member) {
	old, known := j.nodes[node.Node]
	switch {
	case !known:
	case j.ordered(old.node, node):
		if old.node.at().After(node.at()) {
			return
		}
	case old.kind != kind:
		j.twice[node.Node] = true
		if outcomeRank[old.kind.Outcome] >= outcomeRank[kind.Outcome] {
			return
		}
	}
	j.nodes[node.Node] = placement{kind, node}
}

// ordered reports whether the times of two documents tell which of them is the newer.
func (j *Judge) ordered(a, b Member) bool {
	first, second := a.at(), b.at()
	return !first.IsZero() && !second.IsZero() && !first.Equal(second) && !first.After(j.now) && !second.After(j.now)
}

// unreadNamed is how many documents that cannot be read are named: a few megabytes of names.
const unreadNamed = 10_000

// Refuse notes a document that could not be read, and the node that it names. The first are named, the others counted.
func (j *Judge) Refuse(document, node, reason string) {
	if len(j.unread) >= unreadNamed {
		j.more++
		return
	}
	j.unread = append(j.unread, Unread{document, node, reason})
}

// Expect names the nodes that there should be.
func (j *Judge) Expect(names []string) { j.expect = append(j.expect, names...) }

// missing returns the nodes of the inventory that no document names, and those that were judged and are not in it.
func (j *Judge) missing() (missing, beyond []string) {
	missing, beyond = []string{}, []string{}
	expected, known := map[string]bool{}, map[string]bool{}
	for _, u := range j.unread {
		known[u.Node] = true
	}
	for _, name := range j.expect {
		if _, judged := j.nodes[name]; !judged && !known[name] && !expected[name] {
			missing = append(missing, name)
		}
		expected[name] = true
	}
	for name := range j.nodes {
		if len(expected) > 0 && !expected[name] {
			beyond = append(beyond, name)
		}
	}
	slices.Sort(missing)
	slices.Sort(beyond)
	return missing, beyond
}

// judge judges one kind, as it is and with the changes in question. It returns nil if the context ends first.
func (j *Judge) judge(ctx context.Context, f facts.Facts) *draft {
	f.Complete()
	kind := &draft{}
	v, cause := j.verdicts(ctx, f, nil)
	kind.Was = v.Outcome
	for _, f := range v.Findings {
		switch f.Severity {
		case verdict.Error:
			kind.hadErrors = append(kind.hadErrors, f.Rule)
		case verdict.Warning:
			kind.hadWarnings = append(kind.hadWarnings, f.Rule)
		}
	}
	var target matrix.Target
	if len(j.whatIf) > 0 {
		f, target = withChange(f, j.whatIf)
		v, cause = j.verdicts(ctx, f, []matrix.Target{target})
		kind.bears = j.bearable(ctx, f, v)
	}
	kind.traits = traitsOf(j.tables, &f, target)
	if ctx.Err() != nil {
		return nil
	}
	kind.Outcome, kind.cause, kind.why = v.Outcome, cause, messageOf(v)
	kind.Driver, kind.CUDA, kind.GPUs = v.Judged[0].Driver, v.Judged[0].CUDA, v.Judged[0].GPUs
	kind.Answers, kind.Unknown = v.Answers, v.Unknown
	kind.Findings = []Finding{}
	for _, f := range v.Findings {
		if f.Severity != verdict.Note {
			kind.Findings = append(kind.Findings, Finding{f.Rule, f.Severity, f.Subject, f.Message, f.Need, f.URL})
		}
	}
	return kind
}

// Summary returns the result. stale names the nodes with old documents (StaleAfter).
func (j *Judge) Summary(stale func([]Member) []Stale) Summary {
	f := Summary{Schema: schema, WhatIf: []string{}, Outcome: verdict.Compatible, Nodes: len(j.nodes), Kinds: []Kind{},
		Drift: []Drift{}, Stale: []Stale{}, Unread: append([]Unread{}, j.unread...), More: j.more}
	for _, w := range j.whatIf {
		f.WhatIf = append(f.WhatIf, w.Text)
	}
	all := j.gather()
	for _, kind := range j.order {
		if len(kind.Nodes) > 0 {
			f.Kinds = append(f.Kinds, kind.Kind)
			f.Outcome = worseOutcome(f.Outcome, kind.Outcome)
		}
	}
	slices.SortStableFunc(f.Kinds, func(a, b Kind) int {
		return cmp.Or(outcomeRank[b.Outcome]-outcomeRank[a.Outcome], len(b.Nodes)-len(a.Nodes))
	})
	f.Drift = j.drift()
	f.Groups = j.groups(f.Drift)
	f.Missing, f.Beyond = j.missing()
	if len(f.Kinds) == 0 {
		f.Outcome = verdict.Inconclusive
	}
	if slices.ContainsFunc(f.Drift, func(d Drift) bool { return d.Severity == verdict.Error }) {
		f.Outcome = verdict.Incompatible
	}
	f.Stale = append([]Stale{}, stale(all)...)
	f.Twice = append([]string{}, slices.Sorted(maps.Keys(j.twice))...)
	f.Plan = j.plan()
	return f
}

// gather puts the nodes to their kinds, in the order of their names.
func (j *Judge) gather() []Member {
	var all []Member
	for _, p := range j.nodes {
		p.kind.Nodes = append(p.kind.Nodes, p.node)
		all = append(all, p.node)
	}
	for _, kind := range j.order {
		sortByName(kind.Nodes)
	}
	sortByName(all)
	return all
}

func sortByName(nodes []Member) {
	slices.SortFunc(nodes, func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
}

var outcomeRank = map[verdict.Outcome]int{verdict.Compatible: 0, verdict.Inconclusive: 1, verdict.Incompatible: 2}

func worseOutcome(a, b verdict.Outcome) verdict.Outcome {
	if outcomeRank[b] > outcomeRank[a] {
		return b
	}
	return a
}
