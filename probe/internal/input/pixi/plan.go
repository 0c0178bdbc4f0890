package pixi

import (
	"encoding/json"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/plan"
)

// pixiPlan matches the beginning of what pixi prints of changes; its lock has "environments".
var pixiPlan = lazyregexp.New(`^\{\s*"version":\s*\d+,\s*"environment":\s*\{`)

func IsPlan(d document.Document) bool { return pixiPlan.Match(d.Data) }

// pixiChange is one package of pixi's plan: before and after are its entries of the lock, without what both have.
type pixiChange struct {
	Name   string       `json:"name"`
	Before *pixiPackage `json:"before"`
	After  *pixiPackage `json:"after"`
}

type pixiPackage struct {
	Conda string `json:"conda"`
	PyPI  string `json:"pypi"`
}

// into adds the package that the address of its archive names.
func (p *pixiPackage) into(c *conda.List) {
	switch {
	case p == nil:
	case p.Conda != "":
		c.Address(p.Conda)
	case p.PyPI != "":
		c.Wheel(p.PyPI)
	}
}

// ReadPlan reads what pixi update and pixi upgrade print with --dry-run --json:
//
//	{"version": 1, "environment": {"default": {"linux-64": [{"name": "pytorch", "before":
//	 {"conda": "https://…/linux-64/pytorch-2.5.1-cuda126_py312h1763f6d_306.conda", …}, "after": {"conda": "…"}, "type": "conda"}]}}}
func ReadPlan(d document.Document) (facts.Facts, error) {
	var parsed struct {
		Environment map[string]map[string][]pixiChange `json:"environment"`
	}
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	p := &plan.Plan{Plan: facts.Plan{By: "pixi"}}
	names := document.SortedKeys(parsed.Environment)
	judged := names[max(slices.Index(names, "default"), 0):][:min(len(names), 1)]
	before, after := &conda.List{}, &conda.List{}
	for _, name := range names {
		if !slices.Contains(judged, name) {
			p.Unread = append(p.Unread, facts.Unread{Place: "environment " + name, Kind: facts.UnreadNeeded,
				Reason: "the plan changes several environments: name one with --environment"})
			continue
		}
		changes := parsed.Environment[name]["linux-64"]
		if len(changes) == 0 {
			changes = parsed.Environment[name]["linux-aarch64"]
		}
		for _, c := range changes {
			c.Before.into(before)
			c.After.into(after)
		}
	}
	for _, one := range before.Packages {
		p.Remove(one.Name, one.Version)
	}
	for _, one := range after.Resolved() {
		p.Install(one)
	}
	return p.Facts(), nil
}
