package input

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"

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
	l, err := parsePoetryLock(d.Data)
	if err != nil {
		return facts.Facts{}, err
	}
	return lockedFacts("poetry.lock", l.all(), nil), nil
}

// poetryDocument is Poetry's lock.
type poetryDocument struct {
	Package []struct {
		Name     string         `toml:"name"`
		Version  string         `toml:"version"`
		Optional bool           `toml:"optional"`
		Category string         `toml:"category"` // before Poetry 1.5: "main" or "dev"
		Groups   []string       `toml:"groups"`   // from 2.0 on
		Markers  any            `toml:"markers"`  // a text, or one for each group
		Needs    map[string]any `toml:"dependencies"`
		Files    []lockWheel    `toml:"files"`
		Source   struct {
			URL string `toml:"url"`
		} `toml:"source"`
	} `toml:"package"`
	Extras map[string][]string `toml:"extras"`
}

func parsePoetryLock(data []byte) (*poetryDocument, error) {
	l := &poetryDocument{}
	if err := toml.Unmarshal(data, l); err != nil {
		return nil, tomlError(err)
	}
	return l, nil
}

// all are the packages of every group and extra: which of them are installed, a lock alone does not say.
func (l *poetryDocument) all() []lockedRelease {
	var list []lockedRelease
	for _, p := range l.Package {
		q := lockedPackage(p.Name, p.Version, p.Source.URL, wheelNames(p.Files))
		q.markers = texts([]any{p.Markers})
		list = append(list, q)
	}
	return list
}

// choice is what the options of poetry install choose. A project's groups are installed but those that it calls
// optional.
func (l *poetryDocument) choice(args []string, p *pyproject) selection {
	c := selection{}
	for _, value := range append(valuesOf(args, "-E"), valuesOf(args, "--extras")...) {
		c.extras = append(c.extras, strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })...)
	}
	if slices.Contains(args, "--all-extras") {
		c.extras = sortedKeys(l.Extras)
	}
	split := func(option string) (names []string) {
		for _, value := range valuesOf(args, option) {
			names = append(names, strings.Split(value, ",")...)
		}
		return names
	}
	if only := split("--only"); len(only) > 0 {
		c.groups = only
		return c
	}
	c.groups = append([]string{"main", "dev"}, split("--with")...)
	for name, group := range p.Tool.Poetry.Group {
		if !group.Optional {
			c.groups = append(c.groups, name)
		}
	}
	c.groups = append(c.groups, sortedKeys(p.Groups)...)
	without := split("--without")
	if slices.Contains(args, "--no-dev") {
		without = append(without, "dev")
	}
	c.groups = slices.DeleteFunc(c.groups, func(name string) bool { return slices.Contains(without, name) })
	return c
}

// list are the packages of some groups and extras. Of a package that has a source for each extra, the project's own file
// says which one it is.
func (l *poetryDocument) list(c selection, project *pyproject) []lockedRelease {
	h := host{machine: "x86_64", extras: map[string]bool{}}
	optional := map[string]bool{}
	for _, extra := range c.extras {
		h.extras[extra] = true
		l.needs(l.Extras[extra], optional)
	}
	var list []lockedRelease
	for i, q := range l.all() {
		p := &l.Package[i]
		groups := p.Groups
		if p.Category != "" {
			groups = []string{p.Category}
		}
		in := func(group string) bool { return slices.Contains(c.groups, group) }
		switch {
		case p.Optional && !optional[q.name]:
		case len(groups) > 0 && !slices.ContainsFunc(groups, in):
		case !h.takes(&q):
		case !project.poetryTakes(q, h):
		default:
			list = append(list, q)
		}
	}
	return list
}

// needs adds what some packages bring.
func (l *poetryDocument) needs(names []string, met map[string]bool) {
	for _, name := range names {
		if name = distname.Normal(leadName.FindString(name)); met[name] {
			continue
		}
		met[name] = true
		for _, p := range l.Package {
			if distname.Normal(p.Name) == name {
				l.needs(sortedKeys(p.Needs), met)
			}
		}
	}
}

// leadName is the name at the head of an extra's requirement.
var leadName = lazyregexp.New(`^[A-Za-z0-9._-]+`)

// poetryTakes reports whether a package is of the source that the project takes it from on a host; true where it has
// no source of its own.
func (p *pyproject) poetryTakes(q lockedRelease, h host) bool {
	for name, value := range p.Tool.Poetry.Dependencies {
		list := anyList(value)
		if distname.Normal(name) != q.name || len(list) == 0 {
			continue
		}
		for _, item := range list {
			if h.holds(field(item, "markers")) {
				source := p.index(field(item, "source"), p.Tool.Poetry.Source)
				return cmp.Or(source, defaultIndex) == cmp.Or(q.index, localIndex(q.version), defaultIndex)
			}
		}
	}
	return true
}

// localIndex is the variant that a local version names: "cu126" of 2.7.1+cu126.
func localIndex(version string) string {
	_, local, _ := strings.Cut(version, "+")
	return local
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
	var list []lockedRelease
	for _, group := range []map[string]pinned{document.Default, document.Develop} {
		for _, name := range sortedKeys(group) {
			p := group[name]
			l := lockedPackage(name, strings.TrimLeft(p.Version, "="), sources[p.Index], nil)
			l.extras, l.markers = p.Extras, []string{p.Markers}
			list = append(list, l)
		}
	}
	return lockedFacts("Pipfile.lock", list, nil), nil
}
