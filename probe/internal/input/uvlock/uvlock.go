// Package uvlock reads uv's lock.
package uvlock

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/input/request"

	"github.com/pelletier/go-toml/v2"
)

var (
	uvLock    = lazyregexp.New(`(?m)^version\s*=\s*\d+\s*$`)
	tomlTable = lazyregexp.New(`(?m)^\[\[package\]\]\s*$`)
)

func Is(d document.Document) bool {
	return uvLock.Match(d.Data) && (tomlTable.Match(d.Data) || path.Base(d.Name) == "uv.lock")
}

// Package is one package of uv's lock. A package that was resolved several times occurs once for each resolution. The
// members of the project's workspace are also packages.
type Package struct {
	Name    string `toml:"name"`
	Version string `toml:"version"`
	Source  struct {
		Registry string `toml:"registry"`
		URL      string `toml:"url"`
		Editable string `toml:"editable"`
		Virtual  string `toml:"virtual"`
	} `toml:"source"`
	Markers  []string          `toml:"resolution-markers"`
	Wheels   []request.Wheel   `toml:"wheels"`
	Needs    []Need            `toml:"dependencies"`
	Optional map[string][]Need `toml:"optional-dependencies"`
	Groups   map[string][]Need `toml:"dev-dependencies"`
}

// member reports whether a package is one of the workspace, and root whether it is the one beside the lock.
func (p *Package) member() bool { return p.Source.Editable+p.Source.Virtual != "" }

func (p *Package) root() bool { return p.Source.Editable+p.Source.Virtual == "." }

// Need is what a package asks for.
type Need struct {
	Name    string   `toml:"name"`
	Version string   `toml:"version"` // where the lock has several
	Extra   []string `toml:"extra"`
	Marker  string   `toml:"marker"`
}

// Lock is uv's lock, version 1:
//
//	[[package]]
//	name = "torch"
//	version = "2.9.0+cu130"
//	source = { registry = "https://download.pytorch.org/whl/cu130" }
//	wheels = [{ url = "https://…/torch-2.9.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", … }]
type Lock struct {
	Conflicts [][]any   `toml:"conflicts"`
	Package   []Package `toml:"package"`
	named     map[string][]int
	project   *pyproject.Project // beside the lock; nil: there is none
	groups    []string           // that are installed where nobody says otherwise
}

// Parse reads a lock; beside opens the project's file, which says which groups are installed by default.
func Parse(data []byte, beside func(string) ([]byte, error)) (*Lock, error) {
	l := &Lock{named: map[string][]int{}, groups: []string{"dev"}}
	if err := toml.Unmarshal(data, l); err != nil {
		return nil, document.TOMLError(err)
	}
	for i, p := range l.Package {
		l.named[p.Name] = append(l.named[p.Name], i)
	}
	project := &pyproject.Project{}
	if beside == nil {
		return l, nil
	}
	if text, err := beside("pyproject.toml"); err == nil && toml.Unmarshal(text, project) == nil {
		l.project, l.groups = project, project.DefaultGroups()
	}
	return l, nil
}

// Selection is what of a project is installed: by `uv sync --extra cu126 --group train`.
type Selection struct {
	Extras, Groups []string
	members        []string // packages of the workspace; none: the one beside the lock
	everyMember    bool
	groupsOnly     bool // --only-group: without the project itself
}

// needs returns what the chosen members of the workspace ask for.
func (l *Lock) needs(c Selection) []Need {
	rooted := slices.ContainsFunc(l.Package, func(p Package) bool { return p.root() })
	var needs []Need
	for i := range l.Package {
		p := &l.Package[i]
		switch {
		case !p.member():
		case len(c.members) > 0 && !slices.Contains(c.members, p.Name):
		case len(c.members) == 0 && !c.everyMember && rooted && !p.root():
		default:
			if !c.groupsOnly {
				needs = append(needs, p.Needs...)
				for _, extra := range c.Extras {
					needs = append(needs, p.Optional[extra]...)
				}
			}
			for _, group := range c.Groups {
				needs = append(needs, p.Groups[group]...)
			}
		}
	}
	return needs
}

// active returns the extras and groups as the markers of a lock with conflicts write them: extra-5-myapp-cu126.
func (l *Lock) active(c Selection) map[string]bool {
	names := map[string]bool{}
	for _, p := range l.Package {
		if p.member() {
			for _, extra := range c.Extras {
				names[fmt.Sprintf("extra-%d-%s-%s", len(p.Name), p.Name, extra)] = true
			}
			for _, group := range c.Groups {
				names[fmt.Sprintf("group-%d-%s-%s", len(p.Name), p.Name, group)] = true
			}
		}
	}
	return names
}

// Read parses what `uv sync` installs: the project's dependencies and its default groups. Its extras and other groups
// become separate environments, because nobody said which are installed. Those declared as conflicts replace the
// packages without them; for others only the additions are listed.
func Read(d document.Document) (facts.Facts, error) {
	l, err := Parse(d.Data, d.Beside)
	if err != nil {
		return facts.Facts{}, err
	}
	base := Selection{Groups: l.groups}
	main := l.Installed(base)
	parts := map[string]Selection{}
	for _, p := range l.Package {
		for name := range p.Optional {
			if p.member() {
				parts["extra "+name] = Selection{Extras: []string{name}, Groups: l.beside("extra", name)}
			}
		}
		for name := range p.Groups {
			if p.member() && !slices.Contains(l.groups, name) {
				parts["group "+name] = Selection{Groups: append(l.beside("group", name), name)}
			}
		}
	}
	rest := map[int]bool{} // of the extras and groups
	var environments []facts.Environment
	for _, name := range document.SortedKeys(parts) {
		part := parts[name]
		reached := l.Installed(part)
		maps.Copy(rest, reached)
		environments = append(environments, request.Environments("uv.lock", name,
			l.List(part, func(i int) bool { return reached[i] && (l.conflicting(name) || !main[i]) }))...)
	}
	whole := slices.ContainsFunc(l.Package, func(p Package) bool {
		return p.member() && len(p.Needs)+len(p.Optional)+len(p.Groups) > 0
	})
	f := request.Facts("uv.lock", l.List(base, func(i int) bool { return main[i] || !whole && !rest[i] }), l.stale())
	f.Environments = append(f.Environments, environments...)
	return f, nil
}

// stale names the packages of a CUDA stack that the project asks for in a release that the lock does not have: uv resolves
// them anew.
func (l *Lock) stale() (left []facts.Unread) {
	at := slices.IndexFunc(l.Package, func(p Package) bool { return p.root() })
	if l.project == nil || at < 0 || distname.Normal(l.project.Project.Name) != l.Package[at].Name {
		return nil
	}
	for _, q := range l.project.RequirementsOf(l.project.Project.Dependencies, "") {
		if !pyproject.InStack(q.Name) || len(l.project.Tool.UV.Overrides) > 0 {
			continue
		}
		needed := slices.ContainsFunc(l.Package[at].Needs, func(n Need) bool { return n.Name == q.Name })
		if !needed && (request.Host{Machine: "x86_64"}).Takes(&q) || needed && !l.has(q) {
			left = append(left, facts.Unread{Place: q.Name, Kind: facts.UnreadNeeded,
				Reason: "pyproject.toml asks for a release that the lock does not have: run uv lock"})
		}
	}
	return left
}

// has reports whether one of the lock's releases of a package is one that a requirement asks for.
func (l *Lock) has(q request.Package) bool {
	asked := q.Specifier
	if q.Version != "" {
		asked = "==" + q.Version
	}
	wanted, err := version.ParseSpecifiers(asked)
	return err != nil || q.Direct || slices.ContainsFunc(l.named[q.Name], func(i int) bool { return wanted.Has(l.Package[i].Version) })
}

// conflicting reports whether an extra or a group, "extra cu126", is declared not to go with another one.
func (l *Lock) conflicting(part string) bool {
	kind, name, _ := strings.Cut(part, " ")
	return slices.ContainsFunc(l.Conflicts, func(set []any) bool {
		return slices.ContainsFunc(set, func(item any) bool { return document.Field(item, kind) == name })
	})
}

// beside returns the default groups that go with an extra or a group: without those that are in conflict with it, which
// uv has to be told to leave out.
func (l *Lock) beside(kind, name string) []string {
	return slices.DeleteFunc(slices.Clone(l.groups), func(group string) bool {
		return slices.ContainsFunc(l.Conflicts, func(set []any) bool {
			has := func(kind, name string) bool {
				return slices.ContainsFunc(set, func(item any) bool { return document.Field(item, kind) == name })
			}
			return has(kind, name) && has("group", group)
		})
	})
}

// Installed returns the packages that a selection installs: on x86_64, or on aarch64 if a project has nothing for
// x86_64.
func (l *Lock) Installed(c Selection) map[int]bool {
	needs, extras := l.needs(c), l.active(c)
	for _, machine := range []string{"x86_64", "aarch64"} {
		reached := l.reach(needs, request.Host{Machine: machine, Extras: extras})
		for i := range reached {
			if distname.Companions.Match(l.Package[i].Name) {
				return reached
			}
		}
	}
	return l.reach(needs, request.Host{Machine: "x86_64", Extras: extras})
}

// reach returns the packages that a host gets for what is asked for.
func (l *Lock) reach(needs []Need, h request.Host) map[int]bool {
	needs = slices.Clone(needs)
	met, reached := map[string]bool{}, map[int]bool{} // met with their extras
	for len(needs) > 0 {
		n := needs[len(needs)-1]
		needs = needs[:len(needs)-1]
		key := strings.Join(append([]string{n.Name, n.Version}, n.Extra...), " ")
		if met[key] || !h.Holds(n.Marker) {
			continue
		}
		met[key] = true
		for _, i := range l.named[n.Name] {
			p := &l.Package[i]
			if n.Version != "" && n.Version != p.Version {
				continue
			}
			if !reached[i] {
				needs = append(needs, p.Needs...)
			}
			reached[i] = true
			for _, extra := range n.Extra {
				needs = append(needs, p.Optional[extra]...)
			}
		}
	}
	return reached
}

// List returns some of the lock's packages, without the project itself, of what is chosen.
func (l *Lock) List(c Selection, has func(int) bool) []request.Package {
	needs, extras := l.needs(c), l.active(c)
	all := l.reach(needs, request.Host{Extras: extras})
	on := map[string]map[int]bool{} // reached, by the Python
	var list []request.Package
	for i, p := range l.Package {
		if !has(i) || p.member() {
			continue
		}
		wheels := request.WheelFiles(append(p.Wheels, request.Wheel{URL: p.Source.URL}))
		q := request.New(p.Name, p.Version, p.Source.Registry+p.Source.URL, wheels)
		q.Markers = p.Markers
		q.Needed = func(h request.Host) bool {
			key := h.Machine + " " + h.Full
			if on[key] == nil {
				on[key] = l.reach(needs, request.Host{Machine: h.Machine, Python: h.Python, Full: h.Full, Extras: extras,
					MarkerAnswers: map[string]bool{}})
			}
			return on[key][i] || !all[i]
		}
		list = append(list, q)
	}
	return list
}
