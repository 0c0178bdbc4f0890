package input

import (
	"encoding/json"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// pixiPlan matches the beginning of what pixi prints of changes; its lock has "environments".
var pixiPlan = lazyregexp.New(`^\{\s*"version":\s*\d+,\s*"environment":\s*\{`)

func isPixiPlan(d Document) bool { return pixiPlan.Match(d.Data) }

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
func (p *pixiPackage) into(c *conda) {
	switch {
	case p == nil:
	case p.Conda != "":
		c.address(p.Conda)
	case p.PyPI != "":
		c.wheel(p.PyPI)
	}
}

// readPixiPlan reads what pixi update and pixi upgrade print with --dry-run --json:
//
//	{"version": 1, "environment": {"default": {"linux-64": [{"name": "pytorch", "before":
//	 {"conda": "https://…/linux-64/pytorch-2.5.1-cuda126_py312h1763f6d_306.conda", …}, "after": {"conda": "…"}, "type": "conda"}]}}}
func readPixiPlan(d Document) (facts.Facts, error) {
	var document struct {
		Environment map[string]map[string][]pixiChange `json:"environment"`
	}
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	p := &plan{Plan: facts.Plan{By: "pixi"}}
	names := sortedKeys(document.Environment)
	judged := names[max(slices.Index(names, "default"), 0):][:min(len(names), 1)]
	before, after := &conda{}, &conda{}
	for _, name := range names {
		if !slices.Contains(judged, name) {
			p.leftUnread = append(p.leftUnread, facts.Unread{Place: "environment " + name, Kind: facts.UnreadNeeded,
				Reason: "the plan changes several environments: name one with --environment"})
			continue
		}
		changes := document.Environment[name]["linux-64"]
		if len(changes) == 0 {
			changes = document.Environment[name]["linux-aarch64"]
		}
		for _, c := range changes {
			c.Before.into(before)
			c.After.into(after)
		}
	}
	for _, one := range before.list {
		p.remove(one.name, one.version)
	}
	for _, one := range after.packages() {
		p.install(one)
	}
	return p.facts(), nil
}
