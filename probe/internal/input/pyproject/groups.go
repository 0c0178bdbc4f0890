package pyproject

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"

	"github.com/pelletier/go-toml/v2"
)

// usesUV reports whether the project has settings of uv's, for which `uv sync` installs the group dev.
func (p *Project) usesUV() bool {
	uv := p.Tool.UV
	return uv.Default != nil || len(uv.Sources)+len(uv.Index)+len(uv.Dev)+len(uv.Overrides)+len(uv.Constraints) > 0
}

// DefaultGroups returns the groups that a plain `uv sync` installs: those of default-groups, else dev.
func (p *Project) DefaultGroups() []string {
	switch groups := p.Tool.UV.Default.(type) {
	case string: // "all"
		return document.SortedKeys(p.Groups)
	case []any:
		return document.Texts(groups)
	}
	return []string{"dev"}
}

// refusedGroups names the default groups that uv refuses: one that is not defined, and two that conflict.
func (p *Project) refusedGroups() []facts.Unread {
	if p.Tool.UV.Default == nil {
		return nil
	}
	refuse := func(reason string) []facts.Unread {
		return []facts.Unread{{Place: "tool.uv.default-groups", Kind: facts.UnreadNeeded, Reason: reason}}
	}
	groups := p.DefaultGroups()
	for _, name := range groups {
		if _, defined := p.group(name); !defined {
			return refuse("uv refuses it: the group " + name + " is not defined")
		}
	}
	for _, set := range p.Tool.UV.Conflicts {
		var both []string
		for _, item := range set {
			if group := document.Field(item, "group"); group != "" && slices.ContainsFunc(groups, func(g string) bool { return sameName(g, group) }) {
				both = append(both, group)
			}
		}
		if len(both) > 1 {
			return refuse(fmt.Sprintf("uv refuses it: the groups %s and %s are declared as conflicting", both[0], both[1]))
		}
	}
	return nil
}

// sameName reports whether two names of extras or groups are one.
func sameName(a, b string) bool { return distname.Normal(a) == distname.Normal(b) }

// group returns the requirements of a group, by any spelling of its name.
func (p *Project) group(name string) ([]any, bool) {
	for key, list := range p.Groups {
		if sameName(key, name) {
			return list, true
		}
	}
	if sameName(name, "dev") && len(p.Tool.UV.Dev) > 0 {
		return nil, true
	}
	return nil, false
}

// asked is one requirement with the extras and groups through which it is asked for.
type asked struct {
	text  string
	parts []string
}

// ownExtras matches a requirement of a package with extras: "proj[gpu]".
var ownExtras = lazyregexp.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*\[([^\]]*)\]`)

// expander follows the groups that a group includes, and the extras that a project asks of itself.
type expander struct {
	project *Project
	list    []asked
	seen    map[string]bool // "group gpu", "extra cu130"
}

func (e *expander) add(items []any, parts ...string) {
	for _, item := range items {
		if included := document.Field(item, "include-group"); included != "" {
			list, _ := e.project.group(included)
			e.enter("group "+distname.Normal(included), list, append(slices.Clone(parts), included))
			continue
		}
		text, ok := item.(string)
		if !ok {
			continue
		}
		m := ownExtras.FindStringSubmatch(text)
		if m == nil || e.project.Project.Name == "" || !sameName(m[1], e.project.Project.Name) {
			e.list = append(e.list, asked{text, parts})
			continue
		}
		for extra := range strings.SplitSeq(m[2], ",") {
			extra = strings.TrimSpace(extra)
			for key, list := range e.project.Project.Optional {
				if sameName(key, extra) {
					e.enter("extra "+distname.Normal(extra), anyTexts(list), append(slices.Clone(parts), key))
				}
			}
		}
	}
}

// enter adds what a group or an extra asks for, once.
func (e *expander) enter(key string, items []any, parts []string) {
	if !e.seen[key] {
		e.seen[key] = true
		e.add(items, parts...)
	}
}

func anyTexts(list []string) []any {
	items := make([]any, len(list))
	for i, text := range list {
		items[i] = text
	}
	return items
}

// Synced returns what uv installs of a project without a lock: its own requirements with those of some extras and groups.
// A source that one of them has for a package holds for all that ask for it.
func (p *Project) Synced(extras, groups []string) []request.Package {
	e := p.synced(extras, groups)
	return p.settled(e.list, p.requirementsResolvedWith(e))
}

// requirementsResolvedWith returns what is not installed but resolved together with a selection: uv resolves all extras and groups at
// once, and only those that are declared as conflicting apart.
func (p *Project) requirementsResolvedWith(selected *expander) []asked {
	if !p.usesUV() {
		return nil
	}
	e := &expander{project: p, seen: maps.Clone(selected.seen)}
	for _, name := range document.SortedKeys(p.Project.Optional) {
		if len(p.conflictsOf("extra", name)) == 0 {
			e.enter("extra "+distname.Normal(name), anyTexts(p.Project.Optional[name]), []string{name})
		}
	}
	for _, name := range document.SortedKeys(p.Groups) {
		if len(p.conflictsOf("group", name)) == 0 {
			e.enter("group "+distname.Normal(name), p.Groups[name], []string{name})
		}
	}
	return e.list
}

// conflictsOf returns the sets of conflicts, by their numbers, that an extra or a group is in.
func (p *Project) conflictsOf(kind, name string) (sets []int) {
	for i, set := range p.Tool.UV.Conflicts {
		if slices.ContainsFunc(set, func(item any) bool { return sameName(document.Field(item, kind), name) }) {
			sets = append(sets, i)
		}
	}
	return sets
}

// unsureSources names the packages of which uv chooses the index by conflicts that overlap: with an extra in two sets, it
// takes the source of a group of one of them also where that is not installed.
func (p *Project) unsureSources(selected *expander, list []request.Package) []facts.Unread {
	has := func(kind, name string) bool { return selected.seen[kind+" "+distname.Normal(name)] }
	overlaps := func(kind, name string) bool {
		for _, i := range p.conflictsOf(kind, name) {
			for _, item := range p.Tool.UV.Conflicts[i] {
				for _, other := range []string{"extra", "group"} {
					if name := document.Field(item, other); name != "" && len(p.conflictsOf(other, name)) > 1 {
						return true
					}
				}
			}
		}
		return false
	}
	for _, l := range list {
		for key, source := range p.Tool.UV.Sources {
			if distname.Normal(key) != l.Name || p.hasSource(l, selected.parts()) {
				continue
			}
			for _, item := range document.AnyList(source) {
				for _, kind := range []string{"extra", "group"} {
					if name := document.Field(item, kind); name != "" && !has(kind, name) && overlaps(kind, name) {
						return []facts.Unread{{Place: "tool.uv.sources." + l.Name, Kind: facts.UnreadNeeded,
							Reason: "extras and groups in several sets of conflicts decide which index serves it: uv.lock says which"}}
					}
				}
			}
		}
	}
	return nil
}

// parts returns all extras and groups that were followed.
func (e *expander) parts() []string {
	parts := []string{""}
	for key := range e.seen {
		_, name, _ := strings.Cut(key, " ")
		parts = append(parts, name)
	}
	return parts
}

// synced follows the project's own requirements and those of some extras and groups.
func (p *Project) synced(extras, groups []string) *expander {
	e := &expander{project: p, seen: map[string]bool{}}
	e.add(anyTexts(p.Project.Dependencies), "")
	for _, name := range extras {
		e.add([]any{p.Project.Name + "[" + name + "]"})
	}
	for _, name := range groups {
		list, _ := p.group(name)
		e.enter("group "+distname.Normal(name), list, []string{name})
		if sameName(name, "dev") {
			e.add(anyTexts(p.Tool.UV.Dev), "dev")
		}
	}
	return e
}

// partOf returns what one extra or group asks for, as an environment of its own.
func (p *Project) partOf(kind string, items []any, name string) []request.Package {
	e := &expander{project: p, seen: map[string]bool{}}
	e.add(items, name)
	e.seen[kind+" "+distname.Normal(name)] = true
	return p.settled(e.list, p.requirementsResolvedWith(e))
}

// settled returns requirements as packages. Of several that ask for one package the source of one holds for all, and the
// ranges of all hold together, since one release is installed. What is only resolved with them asks for no package.
func (p *Project) settled(list, with []asked) []request.Package {
	sourced := map[string]request.Package{}
	all, others := p.packagesOf(list, sourced), p.packagesOf(with, sourced)
	at := map[string]int{}
	var merged []request.Package
	for n, l := range slices.Concat(all, others) {
		i, again := at[l.Name]
		if n >= len(all) && !again {
			continue
		}
		if s, ok := sourced[l.Name]; ok && !l.Direct && !s.Direct && s.Specifier != fromElsewhere {
			l.Index, l.IndexCUDA = s.Index, s.IndexCUDA
		} else if ok && !l.Direct {
			l.Version, l.Specifier, l.Index, l.Direct, l.Wheels = s.Version, s.Specifier, s.Index, s.Direct, s.Wheels
		}
		switch {
		case n >= len(all):
			if len(l.Markers) == 0 && l.Specifier != fromElsewhere {
				constrainTo(&merged[i], l)
			}
		case !again || !slices.Equal(merged[i].Markers, l.Markers) || l.Direct || merged[i].Direct:
			if !again {
				at[l.Name] = len(merged)
			}
			merged = append(merged, l)
		default:
			if l.Specifier != fromElsewhere {
				constrainTo(&merged[i], l)
			}
			merged[i].Extras = append(slices.Clone(merged[i].Extras), l.Extras...)
		}
	}
	return merged
}

// packagesOf returns requirements as packages, and adds to sourced those that have a source of their own.
func (p *Project) packagesOf(list []asked, sourced map[string]request.Package) (all []request.Package) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && slices.Equal(list[n].parts, list[0].parts) {
			n++
		}
		var texts []string
		for _, a := range list[:n] {
			texts = append(texts, a.text)
		}
		for _, l := range p.RequirementsOf(texts, list[0].parts...) {
			if _, before := sourced[l.Name]; !before && p.hasSource(l, list[0].parts) {
				sourced[l.Name] = l
			}
			all = append(all, l)
		}
		list = list[n:]
	}
	return all
}

// hasSource reports whether [tool.uv.sources] has a source for a package that is asked for through some extras and groups.
func (p *Project) hasSource(l request.Package, parts []string) bool {
	return !l.Direct && p.setSource(&l, parts) || l.Direct && len(p.Tool.UV.Sources) > 0 && p.setSource(&l, parts)
}

// DropDefaultGroups returns the text of a project in which default-groups lacks some groups. The comments are lost: it is
// for reading.
func DropDefaultGroups(data []byte, names []string) ([]byte, error) {
	tables := map[string]any{}
	if err := toml.Unmarshal(data, &tables); err != nil {
		return nil, document.TOMLError(err)
	}
	uv, _ := document.Entry(tables["tool"], "uv").(map[string]any)
	groups, listed := uv["default-groups"].([]any)
	if !listed {
		return nil, errors.New("it does not list default-groups")
	}
	uv["default-groups"] = slices.DeleteFunc(groups, func(g any) bool {
		name, _ := g.(string)
		return slices.Contains(names, name)
	})
	return toml.Marshal(tables)
}

// ListedDefaultGroups returns the groups that default-groups lists; none if it lists none.
func ListedDefaultGroups(data []byte) []string {
	p := &Project{}
	if err := toml.Unmarshal(data, p); err != nil || p.Tool.UV.Default == nil {
		return nil
	}
	return p.DefaultGroups()
}
