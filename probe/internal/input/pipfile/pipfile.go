// Package pipfile reads Pipenv's lock.
package pipfile

import (
	"cmp"
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

var pipfileKey = lazyregexp.New(`"pipfile-spec"\s*:`)

func Is(d document.Document) bool { return d.Starts("{") && pipfileKey.Match(d.Data) }

// Read reads Pipenv's lock, whose packages name one of its sources:
//
//	{"_meta": {"pipfile-spec": 6, "sources": [{"name": "pypi", "url": "https://mirror.example/simple"}]},
//	 "default": {"torch": {"index": "pytorch", "markers": "…", "version": "==2.9.0+cu126"}}, "develop": {}}
func Read(d document.Document) (facts.Facts, error) {
	var parsed map[string]json.RawMessage
	var meta struct {
		Sources []source `json:"sources"`
	}
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	if err := json.Unmarshal(parsed["_meta"], &meta); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	var main []request.Package
	var left []facts.Unread
	var others []facts.Environment
	for _, category := range document.SortedKeys(parsed) {
		if category == "_meta" {
			continue
		}
		var pins map[string]pinned
		if err := json.Unmarshal(parsed[category], &pins); err != nil {
			return facts.Facts{}, document.JSONError(err)
		}
		list, unread := packagesOf(pins, meta.Sources)
		left = append(left, unread...)
		if category == "default" || category == "develop" {
			main = append(main, list...)
		} else {
			others = append(others, request.Environments("Pipfile.lock", "category "+category, list)...)
		}
	}
	f := request.Facts("Pipfile.lock", main, left)
	f.Environments = append(f.Environments, others...)
	return f, nil
}

// source is one index of a lock.
type source struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// pinned is one package of a lock.
type pinned struct {
	Version string   `json:"version"`
	Index   string   `json:"index"`
	Markers string   `json:"markers"`
	Extras  []string `json:"extras"`
	File    string   `json:"file"`
	Path    string   `json:"path"`
	Git     string   `json:"git"`
}

// packagesOf returns the packages of one category. One that names no index comes from the first.
func packagesOf(pins map[string]pinned, sources []source) (list []request.Package, left []facts.Unread) {
	addresses := map[string]string{}
	for _, s := range sources {
		addresses[s.Name] = s.URL
	}
	if len(sources) > 0 {
		addresses[""] = sources[0].URL
	}
	for _, name := range document.SortedKeys(pins) {
		p := pins[name]
		l := request.New(name, strings.TrimLeft(p.Version, "="), addresses[p.Index], nil)
		if address := cmp.Or(p.File, p.Path, p.Git); address != "" {
			if wheel := request.WheelFile(address); wheel != "" { // Pipenv calls one without a name by its hash
				name, _, _ = strings.Cut(wheel, "-")
			} else if hashName.MatchString(name) {
				left = append(left, facts.Unread{Place: address, Reason: requirements.Unnamed, Kind: facts.UnreadNeeded})
			}
			l = request.Package{Name: distname.Normal(name), From: "package " + distname.Normal(name)}
			l.Take(address, "")
		}
		l.Extras, l.Markers = p.Extras, []string{p.Markers}
		list = append(list, l)
	}
	return list, left
}

// hashName matches the name that Pipenv gives a file of which it knows none.
var hashName = lazyregexp.New(`^[0-9a-f]{4,}$`)
