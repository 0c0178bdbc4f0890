package given

import (
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

var (
	uvLock    = lazyregexp.New(`(?m)^version\s*=\s*\d+\s*$`)
	tomlTable = lazyregexp.New(`(?m)^\[\[package\]\]\s*$`)
)

func isUVLock(d Document) bool { return uvLock.Match(d.Data) && tomlTable.Match(d.Data) }

// uvPackage is one package of uv's lock. What was resolved more than once stands there once for each resolution; the
// project itself is among the packages.
type uvPackage struct {
	Name    string `toml:"name"`
	Version string `toml:"version"`
	Source  struct {
		Registry string `toml:"registry"`
		URL      string `toml:"url"`
		Editable string `toml:"editable"`
		Virtual  string `toml:"virtual"`
	} `toml:"source"`
	Markers  []string            `toml:"resolution-markers"`
	Wheels   []lockWheel         `toml:"wheels"`
	Needs    []uvNeed            `toml:"dependencies"`
	Optional map[string][]uvNeed `toml:"optional-dependencies"`
	Groups   map[string][]uvNeed `toml:"dev-dependencies"`
}

// uvNeed is what a package asks for.
type uvNeed struct {
	Name    string   `toml:"name"`
	Version string   `toml:"version"` // where the lock has several
	Extra   []string `toml:"extra"`
	Marker  string   `toml:"marker"`
}

// uvDocument is uv's lock, version 1:
//
//	[[package]]
//	name = "torch"
//	version = "2.9.0+cu130"
//	source = { registry = "https://download.pytorch.org/whl/cu130" }
//	wheels = [{ url = "https://…/torch-2.9.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", … }]
type uvDocument struct {
	Package []uvPackage `toml:"package"`
	named   map[string][]int
}

// readUVLock reads what `uv sync` installs: the project's dependencies and its group dev. Its extras and its other
// groups are environments of their own: nobody said which of them are installed.
func readUVLock(d Document) (facts.Facts, error) {
	l := &uvDocument{named: map[string][]int{}}
	if err := toml.Unmarshal(d.Data, l); err != nil {
		return facts.Facts{}, tomlError(err)
	}
	base, more := []uvNeed{}, map[string][]uvNeed{}
	for i, p := range l.Package {
		l.named[p.Name] = append(l.named[p.Name], i)
	}
	for _, p := range l.Package {
		if p.Source.Editable+p.Source.Virtual == "" {
			continue
		}
		base = append(append(base, p.Needs...), p.Groups["dev"]...)
		for name, needs := range p.Optional {
			more["extra "+name] = append(more["extra "+name], needs...)
		}
		for name, needs := range p.Groups {
			if name != "dev" {
				more["group "+name] = append(more["group "+name], needs...)
			}
		}
	}
	main := l.reach(base, host{})
	rest := map[int]bool{} // of the extras and groups
	var environments []facts.Environment
	for _, name := range sorted(more) {
		reached := l.reach(more[name], host{})
		maps.Copy(rest, reached)
		environments = append(environments, lockedEnvironments("uv.lock", name,
			l.list(more[name], func(i int) bool { return reached[i] && !main[i] }))...)
	}
	f := lockedFacts("uv.lock", l.list(base, func(i int) bool { return main[i] || !rest[i] }), nil)
	f.Environments = append(f.Environments, environments...)
	return f, nil
}

// reach is the packages that a host gets for what is asked for.
func (l *uvDocument) reach(needs []uvNeed, h host) map[int]bool {
	needs = slices.Clone(needs)
	met, reached := map[string]bool{}, map[int]bool{} // met with their extras
	for len(needs) > 0 {
		n := needs[len(needs)-1]
		needs = needs[:len(needs)-1]
		key := strings.Join(append([]string{n.Name, n.Version}, n.Extra...), " ")
		if met[key] || !h.holds(n.Marker) {
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

// list are some of the lock's packages, without the project itself; needs is what they were reached from.
func (l *uvDocument) list(needs []uvNeed, has func(int) bool) []locked {
	all := l.reach(needs, host{})
	on := map[string]map[int]bool{} // reached, by the Python
	var list []locked
	for i, p := range l.Package {
		if !has(i) || p.Source.Editable+p.Source.Virtual != "" {
			continue
		}
		q := lockedPackage(p.Name, p.Version, p.Source.Registry+p.Source.URL, wheelNames(p.Wheels))
		q.markers = p.Markers
		q.needed = func(h host) bool {
			if on[h.full] == nil {
				on[h.full] = l.reach(needs, host{python: h.python, full: h.full, met: map[string]bool{}})
			}
			return on[h.full][i] || !all[i]
		}
		list = append(list, q)
	}
	return list
}
