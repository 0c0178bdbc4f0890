package python

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input"
)

// unmet is a requirement that an environment does not meet: it has no such distribution, or an older release of it.
type unmet struct {
	input.Requirement
	by      string   // the dist-info directory of the distribution that requires it
	have    string   // the release that is there; empty where there is none
	modules []string // that it brings to the top of the import path; nil where it is not there
}

// String is how an installer is asked for it, "mpmath>=1.1.0,<1.4".
func (u unmet) String() string { return u.Name + u.Range }

// maxRequired bounds the distributions whose requirements are followed.
const maxRequired = 500

// unmetFrom are the unmet requirements of a distribution and of those that it requires, at any depth, without extras.
// NVIDIA's libraries are the loader's to find.
func (s *site) unmetFrom(h *host.Host, info string) []unmet {
	var list []unmet
	for _, dist := range s.requiredFrom(h, info) {
		list = append(list, s.requirementsOf(h, dist).unmet...)
	}
	return list
}

// requiredFrom are a distribution and those that it requires, at any depth, by their dist-info directories.
func (s *site) requiredFrom(h *host.Host, info string) []string {
	list, seen := []string{info}, map[string]bool{info: true}
	for i := 0; i < len(list) && len(list) < maxRequired; i++ {
		for _, dist := range s.requirementsOf(h, list[i]).met {
			if !seen[dist] {
				seen[dist] = true
				list = append(list, dist)
			}
		}
	}
	return list
}

// requirements are those of one distribution: the dist-info directories of what is there, and what is not met.
type requirements struct {
	met   []string
	unmet []unmet
}

// requirementsOf reads a distribution's METADATA once.
func (s *site) requirementsOf(h *host.Host, info string) requirements {
	if e, ok := s.required[info]; ok {
		return e
	}
	var e requirements
	for line := range bytes.Lines(headerOf(h.ReadQuietly(info + "/METADATA"))) {
		rest, ok := bytes.CutPrefix(line, requiresDist)
		if !ok || elsewhere.Match(rest) {
			continue
		}
		r, ok := input.ParseRequirement(strings.TrimSpace(string(rest)))
		if !ok || strings.HasPrefix(r.Name, "nvidia-") || !r.Applies(facts.Environment{Python: s.python}, "", nil) {
			continue
		}
		dist := s.infoOf(h, r.Name)
		if dist != "" {
			e.met = append(e.met, dist)
		}
		if u, lacks := s.lacks(h, info, r, dist); lacks {
			e.unmet = append(e.unmet, u)
		}
	}
	if s.required == nil {
		s.required = map[string]requirements{}
	}
	s.required[info] = e
	return e
}

// lacks reports whether a requirement is not met by the distribution of its name, empty where there is none: a package
// may be there without its metadata.
func (s *site) lacks(h *host.Host, by string, r input.Requirement, info string) (unmet, bool) {
	u := unmet{Requirement: r, by: by}
	if info != "" {
		_, u.have, _ = strings.Cut(distOf(info), " ")
		if olderThan(r, u.have) {
			u.modules = indexRecord(h.ReadQuietly(info + "/RECORD")).topModules()
			return u, true
		}
	}
	module := strings.ReplaceAll(r.Name, "-", "_")
	if closedModule(h, s.path, module) != "" {
		return u, true
	}
	if findsModule(h, s.path, module, nil) {
		return u, false
	}
	return u, info == "" || !s.isThere(h, info)
}

// isThere reports whether a distribution's modules are where its RECORD says: one that it brings to the top of the import
// path, else, of a part of a namespace as google/protobuf, its first source. One without sources has nothing to lose.
func (s *site) isThere(h *host.Host, info string) bool {
	record := indexRecord(h.ReadQuietly(info + "/RECORD"))
	if tops := record.topModules(); len(tops) > 0 {
		return slices.ContainsFunc(tops, func(module string) bool { return findsModule(h, s.path, module, nil) })
	}
	sources := slices.Sorted(maps.Keys(record.sources))
	return len(sources) == 0 || h.Exists(path.Join(path.Dir(info), sources[0]))
}

// lowerBound matches what a requirement has of the least release that it takes: ">=1.2", "==1.2.*", "~=1.2".
var lowerBound = lazyregexp.New(`(?:>=|==|~=|>)\s*(\d[\w.]*?)(?:\.\*)?(?:,|$)`)

// olderThan reports whether a release is below the range of a requirement. One that is above it nearly always serves.
func olderThan(r input.Requirement, have string) bool {
	if r.Accepts(have) {
		return false
	}
	for _, m := range lowerBound.FindAllStringSubmatch(r.Range, -1) {
		if version.Of(have).Less(version.Of(m[1])) {
			return true
		}
	}
	return false
}

// wantedFor is the unmet requirement that brings a module: the one of its name, else the only one that is not there.
func wantedFor(list []unmet, module string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(u unmet) bool { return u.have != "" })
	if i := slices.IndexFunc(list, func(u unmet) bool { return u.Name == distname.Normal(module) }); i >= 0 {
		return list[i].String()
	}
	if len(list) == 1 {
		return list[0].String()
	}
	return ""
}

// sourceAt is the source file of a module at the top of some directories; empty where it has none.
func sourceAt(h *host.Host, dirs []string, module string) string {
	file := firstModule(h, dirs, module)
	if path.Ext(file) != ".py" {
		return ""
	}
	return file
}
