// Package pipfile reads Pipenv's lock.
package pipfile

import (
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

var pipfileKey = lazyregexp.New(`"pipfile-spec"\s*:`)

func Is(d document.Document) bool { return d.Starts("{") && pipfileKey.Match(d.Data) }

// Read reads Pipenv's lock, whose packages name one of its sources:
//
//	{"_meta": {"pipfile-spec": 6, "sources": [{"name": "pypi", "url": "https://mirror.example/simple"}]},
//	 "default": {"torch": {"index": "pytorch", "markers": "…", "version": "==2.9.0+cu126"}}, "develop": {}}
func Read(d document.Document) (facts.Facts, error) {
	type pinned struct {
		Version string   `json:"version"`
		Index   string   `json:"index"`
		Markers string   `json:"markers"`
		Extras  []string `json:"extras"`
	}
	var parsed struct {
		Meta struct {
			Sources []struct {
				Name string `json:"name"`
				URL  string `json:"url"`
			} `json:"sources"`
		} `json:"_meta"`
		Default map[string]pinned `json:"default"`
		Develop map[string]pinned `json:"develop"`
	}
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	sources := map[string]string{}
	for _, s := range parsed.Meta.Sources {
		sources[s.Name] = s.URL
	}
	var list []request.Package
	for _, group := range []map[string]pinned{parsed.Default, parsed.Develop} {
		for _, name := range document.SortedKeys(group) {
			p := group[name]
			l := request.New(name, strings.TrimLeft(p.Version, "="), sources[p.Index], nil)
			l.Extras, l.Markers = p.Extras, []string{p.Markers}
			list = append(list, l)
		}
	}
	return request.Facts("Pipfile.lock", list, nil), nil
}
