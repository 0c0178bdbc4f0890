package requires

import (
	"cmp"
	"slices"

	"cudacompat/internal/version"
)

// TreesSchema names the form of Trees in JSON. Fields may be added under the same name, never renamed.
const TreesSchema = "cudacompat/changes/v1"

// Trees compares what the project files of two directories need: those of one name that differ.
type Trees struct {
	Schema string       `json:"schema"`
	Old    string       `json:"old"`
	New    string       `json:"new"`
	Files  []FileChange `json:"files"`
	Unread []UnreadFile `json:"unread"`
	// PromiseFrom is the configuration whose promise was compared; empty where none was.
	PromiseFrom string `json:"promise_from"`
}

// FileChange is what the change of one file costs.
type FileChange struct {
	File      string          `json:"file"`               // relative to the directories
	OldFile   string          `json:"old_file,omitempty"` // its name before the change, if that was another one
	State     string          `json:"state"`              // "changed", "added", "removed"
	Packages  []PackageChange `json:"packages"`
	OldDriver string          `json:"old_driver"` // the oldest that runs it on some GPU; empty: none, or any does
	NewDriver string          `json:"new_driver"`
	Changes   []Change        `json:"changes"`
	Targets   []TargetChange  `json:"targets"`  // those that were named
	Supports  []Supported     `json:"supports"` // the parts of the promise that held before and do not now
	Images    []ImageChange   `json:"images"`
	Holds     []Hold          `json:"holds"`
	Unknown   []Missing       `json:"unknown"` // what is missing of the new file
}

// OpenVersion stands for the version of a build that its file leaves open.
const OpenVersion = "open"

// PackageChange is a build whose version changed. An empty version is of a build that came or went.
type PackageChange struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
	From string `json:"from"` // "line 3"
	// What the file asks for, where that is a range: the version is the newest of it that the tables know.
	OldRange string `json:"old_range,omitempty"`
	NewRange string `json:"new_range,omitempty"`
}

// Hold is a range of releases that costs nothing against the old one. The releases in it were compared, not guessed.
type Hold struct {
	Package string `json:"package"`
	Newest  string `json:"newest"` // the newest release that costs nothing
	Before  string `json:"before"` // the first one that does: package<before
}

// UnreadFile is a file that was not compared.
type UnreadFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Costs reports whether a change takes a GPU or a driver away, or leaves that open.
func (c FileChange) Costs() bool {
	return slices.ContainsFunc(c.Changes, Change.Costs) || c.Broken() || c.RaisesDriver() || len(c.Images) > 0 || len(c.Unknown) > 0
}

// RaisesDriver reports whether the oldest driver that will do is a newer one than before.
func (c FileChange) RaisesDriver() bool {
	return c.State == "changed" && c.OldDriver != "" && version.CompareTexts(c.NewDriver, c.OldDriver) > 0
}

// Costs reports whether drivers are refused, or may be, that were accepted before.
func (c Change) Costs() bool { return c.Kind != "lowered" && c.Kind != "gained" }

// Broken reports whether a named target or a part of the promise is lost.
func (c FileChange) Broken() bool {
	return slices.ContainsFunc(c.Targets, TargetChange.Lost) || slices.ContainsFunc(c.Supports, Supported.Broken)
}

// Broken reports whether a file loses a named target or a part of the promise.
func (t Trees) Broken() bool { return slices.ContainsFunc(t.Files, FileChange.Broken) }

// Undecided reports whether a fact is missing to tell what the change costs.
func (t Trees) Undecided() bool {
	return len(t.Unread) > 0 || slices.ContainsFunc(t.Files, func(c FileChange) bool {
		return len(c.Unknown) > 0 || slices.ContainsFunc(c.Changes, func(c Change) bool { return c.Kind == "unknown" })
	})
}

// ComparePackages lists the builds whose version differs, by name.
func ComparePackages(old, now Requirement) []PackageChange {
	list := []PackageChange{}
	versions := func(r Requirement, name string) (all []string) {
		for _, b := range r.Builds {
			if version := cmp.Or(b.Version, OpenVersion); b.Name == name && !slices.Contains(all, version) {
				all = append(all, version)
			}
		}
		return all
	}
	one := func(all []string) string {
		if len(all) == 1 {
			return all[0]
		}
		return ""
	}
	var seen []string
	for _, b := range append(slices.Clone(now.Builds), old.Builds...) {
		if slices.Contains(seen, b.Name) {
			continue
		}
		seen = append(seen, b.Name)
		was, is := versions(old, b.Name), versions(now, b.Name)
		gone := slices.DeleteFunc(slices.Clone(was), func(v string) bool { return slices.Contains(is, v) })
		came := slices.DeleteFunc(slices.Clone(is), func(v string) bool { return slices.Contains(was, v) })
		if len(was) > 1 || len(is) > 1 { // the forks of a lock, of which one moved
			was, is = gone, came
		}
		if len(gone)+len(came) > 0 && len(was) <= 1 && len(is) <= 1 {
			list = append(list, PackageChange{Name: b.Name, Old: one(was), New: one(is), From: b.From})
		}
	}
	return list
}
