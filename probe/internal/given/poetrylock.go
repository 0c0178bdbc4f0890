package given

import (
	"bytes"
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

var contentHash = lazyregexp.New(`(?m)^content-hash\s*=`)

func isPoetryLock(d Document) bool {
	return contentHash.Match(d.Data) && bytes.Contains(d.Data, []byte("[metadata]"))
}

// readPoetryLock reads Poetry's lock, whose packages of another source name its address:
//
//	[[package]]
//	name = "torch"
//	version = "2.9.0+cu126"
//	markers = "sys_platform == \"linux\""
//	files = [{file = "torch-2.9.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:…"}]
//
//	[package.source]
//	type = "legacy"
//	url = "https://download.pytorch.org/whl/cu126"
func readPoetryLock(d Document) (facts.Facts, error) {
	var document struct {
		Package []struct {
			Name    string      `toml:"name"`
			Version string      `toml:"version"`
			Markers any         `toml:"markers"` // a text, or one for each group
			Files   []lockWheel `toml:"files"`
			Source  struct {
				URL string `toml:"url"`
			} `toml:"source"`
		} `toml:"package"`
	}
	if err := toml.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, tomlError(err)
	}
	var list []locked
	for _, p := range document.Package {
		l := lockedPackage(p.Name, p.Version, p.Source.URL, wheelNames(p.Files))
		l.markers = texts([]any{p.Markers})
		list = append(list, l)
	}
	return lockedFacts("poetry.lock", list, nil), nil
}

var pipfileKey = lazyregexp.New(`"pipfile-spec"\s*:`)

func isPipfileLock(d Document) bool { return d.starts("{") && pipfileKey.Match(d.Data) }

// readPipfileLock reads Pipenv's lock, whose packages name one of its sources:
//
//	{"_meta": {"pipfile-spec": 6, "sources": [{"name": "pypi", "url": "https://mirror.example/simple"}]},
//	 "default": {"torch": {"index": "pytorch", "markers": "…", "version": "==2.9.0+cu126"}}, "develop": {}}
func readPipfileLock(d Document) (facts.Facts, error) {
	type pinned struct {
		Version string   `json:"version"`
		Index   string   `json:"index"`
		Markers string   `json:"markers"`
		Extras  []string `json:"extras"`
	}
	var document struct {
		Meta struct {
			Sources []struct {
				Name string `json:"name"`
				URL  string `json:"url"`
			} `json:"sources"`
		} `json:"_meta"`
		Default map[string]pinned `json:"default"`
		Develop map[string]pinned `json:"develop"`
	}
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	sources := map[string]string{}
	for _, s := range document.Meta.Sources {
		sources[s.Name] = s.URL
	}
	var list []locked
	for _, group := range []map[string]pinned{document.Default, document.Develop} {
		for _, name := range sorted(group) {
			p := group[name]
			l := lockedPackage(name, strings.TrimLeft(p.Version, "="), sources[p.Index], nil)
			l.extras, l.markers = p.Extras, []string{p.Markers}
			list = append(list, l)
		}
	}
	return lockedFacts("Pipfile.lock", list, nil), nil
}
