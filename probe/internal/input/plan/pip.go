package plan

import (
	"cudacompat/internal/exactjson"
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

// pipReport matches pip's report, whose first fields are these: of version 0 from pip 22.2 on, of version 1 from 23.0 on.
var pipReport = lazyregexp.New(`^\{\s*"version":\s*"[01]",\s*"pip_version":`)

func IsPipReport(d document.Document) bool { return pipReport.Match(d.Data) }

// ReadPipReport reads the JSON that pip install --report writes
// (https://pip.pypa.io/en/stable/reference/installation-report/).
func ReadPipReport(d document.Document) (facts.Facts, error) {
	var parsed struct {
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
	if err := exactjson.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	p := &Plan{Plan: facts.Plan{By: "pip"}}
	for _, i := range parsed.Install {
		one := request.New(i.Metadata.Name, i.Metadata.Version, "", nil)
		if wheel := request.WheelFile(i.Download.URL); wheel != "" {
			one.Wheels = []string{wheel}
		}
		if i.Direct {
			one = FromPlace(one, i.Download.URL)
		}
		p.Install(one)
		p.Installs[len(p.Installs)-1].Requires = append([]string{}, i.Metadata.Requires...)
	}
	f := p.Facts()
	for i := range f.Environments {
		f.Environments[i].Python = parsed.Environment.Python
	}
	return f, nil
}
