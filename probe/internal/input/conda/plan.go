package conda

import (
	"bytes"
	"encoding/json"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/piplist"
	"cudacompat/probe/internal/input/plan"
)

// condaPlan matches what conda's --dry-run --json has and nothing else that is read.
var condaPlan = lazyregexp.New(`^\{[\s\S]*"(?:LINK|UNLINK)":\s*\[`)

func IsPlan(d document.Document) bool {
	return bytes.Contains(d.Data, []byte(`LINK":`)) && condaPlan.Match(d.Data)
}

// ReadPlan reads conda install --dry-run --json, mamba's too:
//
//	{"actions": {"LINK": [{"name": "pytorch", "version": "2.5.1", "build_string": "cuda126_py312h1763f6d_306",
//	 "channel": "conda-forge"}], "PREFIX": "/opt/conda", "UNLINK": []}, "dry_run": true, "success": true}
func ReadPlan(d document.Document) (facts.Facts, error) {
	var parsed struct {
		Actions struct {
			Link   []condaLink `json:"LINK"`
			Unlink []condaLink `json:"UNLINK"`
			Prefix string      `json:"PREFIX"`
		} `json:"actions"`
		Prefix string `json:"prefix"`
	}
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	p := &plan.Plan{Plan: facts.Plan{By: "conda", Path: parsed.Actions.Prefix}}
	if p.Path == "" {
		p.Path = parsed.Prefix
	}
	c := &List{}
	for _, l := range parsed.Actions.Link {
		c.Take(l.asListed())
	}
	for _, l := range parsed.Actions.Unlink {
		p.Remove(distname.PipName(l.Name), l.Version)
	}
	for _, one := range c.Resolved() {
		p.Install(one)
	}
	return p.Facts(), nil
}

// condaLink is one package of conda's plan; mamba's has "build" in the place of "build_string".
type condaLink struct {
	piplist.Package
	Short string `json:"build"`
}

func (l condaLink) asListed() piplist.Package {
	if l.Package.Build == "" {
		l.Package.Build = l.Short
	}
	return l.Package
}
