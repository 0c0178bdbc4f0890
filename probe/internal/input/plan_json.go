package input

import (
	"bytes"
	"encoding/json"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// pipReport matches pip's report, whose first fields are these: of version 0 from pip 22.2 on, of version 1 from 23.0 on.
var pipReport = lazyregexp.New(`^\{\s*"version":\s*"[01]",\s*"pip_version":`)

func isPipReport(d Document) bool { return pipReport.Match(d.Data) }

// readPipReport reads the JSON that pip install --report writes
// (https://pip.pypa.io/en/stable/reference/installation-report/).
func readPipReport(d Document) (facts.Facts, error) {
	var document struct {
		Install []struct {
			Download struct {
				URL string `json:"url"`
			} `json:"download_info"`
			Direct   bool `json:"is_direct"`
			Metadata struct {
				Name     string   `json:"name"`
				Version  string   `json:"version"`
				Requires []string `json:"requires_dist"`
			} `json:"metadata"`
		} `json:"install"`
		Environment struct {
			Python string `json:"python_full_version"`
		} `json:"environment"`
	}
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	p := &plan{Plan: facts.Plan{By: "pip"}}
	for _, i := range document.Install {
		one := lockedPackage(i.Metadata.Name, i.Metadata.Version, "", nil)
		if wheel := wheelFile(i.Download.URL); wheel != "" {
			one.wheels = []string{wheel}
		}
		if i.Direct {
			one = fromPlace(one, i.Download.URL)
		}
		p.install(one)
		p.Installs[len(p.Installs)-1].Requires = append([]string{}, i.Metadata.Requires...)
	}
	f := p.facts()
	for i := range f.Environments {
		f.Environments[i].Python = document.Environment.Python
	}
	return f, nil
}

// condaPlan matches what conda's --dry-run --json has and nothing else that is read.
var condaPlan = lazyregexp.New(`^\{[\s\S]*"(?:LINK|UNLINK)":\s*\[`)

func isCondaPlan(d Document) bool {
	return bytes.Contains(d.Data, []byte(`LINK":`)) && condaPlan.Match(d.Data)
}

// readCondaPlan reads conda install --dry-run --json, mamba's too:
//
//	{"actions": {"LINK": [{"name": "pytorch", "version": "2.5.1", "build_string": "cuda126_py312h1763f6d_306",
//	 "channel": "conda-forge"}], "PREFIX": "/opt/conda", "UNLINK": []}, "dry_run": true, "success": true}
func readCondaPlan(d Document) (facts.Facts, error) {
	var document struct {
		Actions struct {
			Link   []condaLink `json:"LINK"`
			Unlink []condaLink `json:"UNLINK"`
			Prefix string      `json:"PREFIX"`
		} `json:"actions"`
		Prefix string `json:"prefix"`
	}
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	p := &plan{Plan: facts.Plan{By: "conda", Path: document.Actions.Prefix}}
	if p.Path == "" {
		p.Path = document.Prefix
	}
	c := &conda{}
	for _, l := range document.Actions.Link {
		c.take(l.asListed())
	}
	for _, l := range document.Actions.Unlink {
		p.remove(distname.OfConda(l.Name), l.Version)
	}
	for _, one := range c.packages() {
		p.install(one)
	}
	return p.facts(), nil
}

// condaLink is one package of conda's plan; mamba's has "build" in the place of "build_string".
type condaLink struct {
	listedPackage
	Short string `json:"build"`
}

func (l condaLink) asListed() listedPackage {
	if l.listedPackage.Build == "" {
		l.listedPackage.Build = l.Short
	}
	return l.listedPackage
}
