// Package poetry reads Poetry's lock.
package poetry

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/uvlock"

	"github.com/pelletier/go-toml/v2"
)

var contentHash = lazyregexp.New(`(?m)^content-hash\s*=`)

func Is(d document.Document) bool {
	return contentHash.Match(d.Data) && bytes.Contains(d.Data, []byte("[metadata]"))
}

// Read reads Poetry's lock, whose packages of another source name its address:
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
func Read(d document.Document) (facts.Facts, error) {
	l, err := Parse(d.Data)
	if err != nil {
		return facts.Facts{}, err
	}
	return request.Facts("poetry.lock", l.all(), nil), nil
}

// Lock is Poetry's lock.
type Lock struct {
	Package []struct {
		Name     string          `toml:"name"`
		Version  string          `toml:"version"`
		Optional bool            `toml:"optional"`
		Category string          `toml:"category"` // before Poetry 1.5: "main" or "dev"
		Groups   []string        `toml:"groups"`   // from 2.0 on
		Markers  any             `toml:"markers"`  // a text, or one for each group
		Needs    map[string]any  `toml:"dependencies"`
		Files    []request.Wheel `toml:"files"`
		Source   struct {
			URL string `toml:"url"`
		} `toml:"source"`
	} `toml:"package"`
	Extras map[string][]string `toml:"extras"`
}

func Parse(data []byte) (*Lock, error) {
	l := &Lock{}
	if err := toml.Unmarshal(data, l); err != nil {
		return nil, document.TOMLError(err)
	}
	return l, nil
}

// all returns the packages of every group and extra, because a lock alone does not say which are installed.
func (l *Lock) all() []request.Package {
	var list []request.Package
	for _, p := range l.Package {
		q := request.New(p.Name, p.Version, p.Source.URL, request.WheelFiles(p.Files))
		q.Markers = document.Texts([]any{p.Markers})
		list = append(list, q)
	}
	return list
}

// Selection returns what the options of poetry install select. All groups are installed, except optional ones.
func (l *Lock) Selection(args []string, p *pyproject.Project) uvlock.Selection {
	c := uvlock.Selection{}
	for _, value := range append(uvlock.OptionValues(args, "-E"), uvlock.OptionValues(args, "--extras")...) {
		c.Extras = append(c.Extras, strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })...)
	}
	if slices.Contains(args, "--all-extras") {
		c.Extras = document.SortedKeys(l.Extras)
	}
	split := func(option string) (names []string) {
		for _, value := range uvlock.OptionValues(args, option) {
			names = append(names, strings.Split(value, ",")...)
		}
		return names
	}
	if only := split("--only"); len(only) > 0 {
		c.Groups = only
		return c
	}
	c.Groups = append([]string{"main", "dev"}, split("--with")...)
	for name, group := range p.Tool.Poetry.Group {
		if !group.Optional {
			c.Groups = append(c.Groups, name)
		}
	}
	c.Groups = append(c.Groups, document.SortedKeys(p.Groups)...)
	without := split("--without")
	if slices.Contains(args, "--no-dev") {
		without = append(without, "dev")
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(name string) bool { return slices.Contains(without, name) })
	return c
}

// List returns the packages of some groups and extras. Of a package that has a source for each extra, the project's own
// file says which one it is.
func (l *Lock) List(c uvlock.Selection, project *pyproject.Project) []request.Package {
	h := request.Host{Machine: "x86_64", Extras: map[string]bool{}}
	optional := map[string]bool{}
	for _, extra := range c.Extras {
		h.Extras[extra] = true
		l.needs(l.Extras[extra], optional)
	}
	var list []request.Package
	for i, q := range l.all() {
		p := &l.Package[i]
		groups := p.Groups
		if p.Category != "" {
			groups = []string{p.Category}
		}
		in := func(group string) bool { return slices.Contains(c.Groups, group) }
		switch {
		case p.Optional && !optional[q.Name]:
		case len(groups) > 0 && !slices.ContainsFunc(groups, in):
		case !h.Takes(&q):
		case !takesFrom(project, q, h):
		default:
			list = append(list, q)
		}
	}
	return list
}

// needs adds what some packages bring.
func (l *Lock) needs(names []string, met map[string]bool) {
	for _, name := range names {
		if name = distname.Normal(leadName.FindString(name)); met[name] {
			continue
		}
		met[name] = true
		for _, p := range l.Package {
			if distname.Normal(p.Name) == name {
				l.needs(document.SortedKeys(p.Needs), met)
			}
		}
	}
}

// leadName is the name at the head of an extra's requirement.
var leadName = lazyregexp.New(`^[A-Za-z0-9._-]+`)

// takesFrom reports whether a package comes from the source that the project assigns to it on a host. It is true if the
// project assigns none.
func takesFrom(p *pyproject.Project, q request.Package, h request.Host) bool {
	for name, value := range p.Tool.Poetry.Dependencies {
		list := document.AnyList(value)
		if distname.Normal(name) != q.Name || len(list) == 0 {
			continue
		}
		for _, item := range list {
			if h.Holds(document.Field(item, "markers")) {
				source := p.Index(document.Field(item, "source"), p.Tool.Poetry.Source)
				return cmp.Or(source, request.DefaultIndex) == cmp.Or(q.Index, localIndex(q.Version), request.DefaultIndex)
			}
		}
	}
	return true
}

// localIndex returns the variant that a local version names: "cu126" of 2.7.1+cu126.
func localIndex(version string) string {
	_, local, _ := strings.Cut(version, "+")
	return local
}
