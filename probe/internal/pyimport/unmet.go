package pyimport

import (
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	pip "cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/pyenv"
)

// maxRequired bounds the distributions whose requirements are followed.
const maxRequired = 500

// unmetFrom returns the unmet requirements of a distribution and of those that it requires, at any depth, without
// extras. NVIDIA's libraries are the loader's to find.
func unmetFrom(s *pyenv.Site, h *host.Host, info string) []pyenv.Unmet {
	var list []pyenv.Unmet
	for _, dist := range RequiredFrom(s, h, info) {
		list = append(list, requirementsOf(s, h, dist).Unmet...)
	}
	return list
}

// RequiredFrom returns a distribution and those that it requires, at any depth, by their dist-info directories.
func RequiredFrom(s *pyenv.Site, h *host.Host, info string) []string {
	list, seen := []string{info}, map[string]bool{info: true}
	for i := 0; i < len(list) && len(list) < maxRequired; i++ {
		for _, dist := range requirementsOf(s, h, list[i]).Met {
			if !seen[dist] {
				seen[dist] = true
				list = append(list, dist)
			}
		}
	}
	return list
}

// requirementsOf reads a distribution's METADATA once.
func requirementsOf(s *pyenv.Site, h *host.Host, info string) pyenv.Requirements {
	if e, ok := s.Required[info]; ok {
		return e
	}
	var e pyenv.Requirements
	for _, one := range s.Index(h).At(info).Requires() {
		if one.Elsewhere() || strings.HasPrefix(one.Name, "nvidia-") {
			continue
		}
		r, ok := one.Parse()
		if !ok || !r.Applies(facts.Environment{Python: s.Python}, "", nil) {
			continue
		}
		dist := s.InfoOf(h, r.Name)
		if dist != "" {
			e.Met = append(e.Met, dist)
		}
		if u, lacks := lacks(s, h, info, r, dist); lacks {
			e.Unmet = append(e.Unmet, u)
		}
	}
	if s.Required == nil {
		s.Required = map[string]pyenv.Requirements{}
	}
	s.Required[info] = e
	return e
}

// lacks reports whether the distribution with a requirement's name does not satisfy it. have is "" if there is none; a
// package may exist without metadata.
func lacks(s *pyenv.Site, h *host.Host, by string, r pip.Requirement, info string) (pyenv.Unmet, bool) {
	u := pyenv.Unmet{Requirement: r, By: by}
	if info != "" {
		u.Have = s.Index(h).At(info).Version
		if olderThan(r, u.Have) {
			u.Modules = s.Index(h).At(info).Record().Index().TopModules()
			return u, true
		}
	}
	module := strings.ReplaceAll(r.Name, "-", "_")
	if pyenv.ClosedModule(h, s.Path, module) != "" {
		return u, true
	}
	if pyenv.FindsModule(h, s.Path, module, nil) {
		return u, false
	}
	return u, info == "" || !isThere(s, h, info)
}

// isThere reports whether a distribution's modules are where its RECORD says: a top-level one or, for a part of a
// namespace such as google/protobuf, its first source. One without sources has nothing to lose.
func isThere(s *pyenv.Site, h *host.Host, info string) bool {
	record := s.Index(h).At(info).Record().Index()
	if tops := record.TopModules(); len(tops) > 0 {
		return slices.ContainsFunc(tops, func(module string) bool { return pyenv.FindsModule(h, s.Path, module, nil) })
	}
	sources := slices.Sorted(maps.Keys(record.Sources))
	return len(sources) == 0 || h.Exists(path.Join(path.Dir(info), sources[0]))
}

// lowerBound matches the lowest release in a requirement: ">=1.2", "==1.2.*", "~=1.2".
var lowerBound = lazyregexp.New(`(?:>=|==|~=|>)\s*(\d[\w.]*?)(?:\.\*)?(?:,|$)`)

// olderThan reports whether a release is below the range of a requirement. One that is above it nearly always serves.
func olderThan(r pip.Requirement, have string) bool {
	if r.Accepts(have) {
		return false
	}
	for _, m := range lowerBound.FindAllStringSubmatch(r.Range, -1) {
		if version.ParseOrZero(have).Less(version.ParseOrZero(m[1])) {
			return true
		}
	}
	return false
}

// wantedFor returns the unmet requirement that brings a module: the one with its name, otherwise the only missing one.
func wantedFor(list []pyenv.Unmet, module string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(u pyenv.Unmet) bool { return u.Have != "" })
	if i := slices.IndexFunc(list, func(u pyenv.Unmet) bool { return u.Name == distname.Normal(module) }); i >= 0 {
		return list[i].String()
	}
	if len(list) == 1 {
		return list[0].String()
	}
	return ""
}

// sourceAt returns the source file of a top-level module in some directories, or "".
func sourceAt(h *host.Host, dirs []string, module string) string {
	file := pyenv.FirstModule(h, dirs, module)
	if path.Ext(file) != ".py" {
		return ""
	}
	return file
}
