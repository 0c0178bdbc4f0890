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
	// Decided are projects that differ, and whose lock does not.
	Decided []Decided `json:"decided_by_lock,omitempty"`
	// PromiseFrom is the configuration whose promise was compared; empty where none was.
	PromiseFrom string `json:"promise_from"`
}

// Decided is a project that differs beside a lock that asks for the same as before.
type Decided struct {
	Project string `json:"project"` // "pyproject.toml"
	Lock    string `json:"lock"`
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
	// Parts are the extras and groups that are installed only where somebody asks for them, and what their change costs.
	Parts []PartChange `json:"parts,omitempty"`
	// DefaultGroups are those that a plain `uv sync` did not install before the change.
	DefaultGroups []string `json:"new_default_groups,omitempty"`
	// Declared is what the image asks of the host, where that is less than its builds need, and was not before.
	Declared *Declared `json:"declared,omitempty"`
	// Through are the files that differ and that this one, which is unchanged, includes.
	Through []string `json:"through,omitempty"`
	// BuildArgs are the build arguments that choose a Dockerfile's base image and whose default differs.
	BuildArgs []ArgChange `json:"build_args,omitempty"`
	// Arm is the package that an older release, which lowers the driver, takes off the GPUs of Arm hosts.
	Arm       *ArmChange `json:"cpu_only_on_arm,omitempty"`
	Unchanged []string   `json:"unchanged,omitempty"` // the builds that are the same as before: "torch 2.8.0+cu128"
}

// ArgChange is a build argument whose default changed.
type ArgChange struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// BaseMayHold is what is missing of a file that asks for a range of releases and starts from an image of unknown content.
const BaseMayHold = "it is the base image, which may already hold a release that fits"

// ArmChange is a package whose build for Arm hosts was one for CUDA and is one for CPUs now.
type ArmChange struct {
	Package string   `json:"package"`
	Old     string   `json:"old"`
	New     string   `json:"new"`
	GPUs    []string `json:"gpus"` // those of Arm hosts that the old release ran on
}

// PartChange is what the change of one extra or group costs those who ask for it.
type PartChange struct {
	Part      string          `json:"part"`  // "extra cu13"
	State     string          `json:"state"` // "changed", "added", "removed"
	Packages  []PackageChange `json:"packages"`
	OldDriver string          `json:"old_driver"`
	NewDriver string          `json:"new_driver"`
	Changes   []Change        `json:"changes"`
}

// Costs reports whether those who install a part lose a GPU or a driver.
func (c PartChange) Costs() bool {
	return c.State == "changed" && (slices.ContainsFunc(c.Changes, Change.Costs) ||
		c.OldDriver != "" && version.CompareTexts(c.NewDriver, c.OldDriver) > 0)
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
	// Moved is the file that the same release went to, or came from.
	Moved string `json:"moved,omitempty"`
}

// Hold is a part of what keeps a file's requirement as it was. The comparison was run on the file with all of its holds,
// and costs nothing.
type Hold struct {
	Package string `json:"package"`
	Newest  string `json:"newest"` // the newest release that costs nothing
	Before  string `json:"before"` // the first one that does: package<before; empty: any release will do
	// Index is the package index to keep, "cu128"; empty: the new one may stay.
	Index string `json:"index,omitempty"`
	// Instead is the index that the change goes to, "cu130".
	Instead string `json:"instead_of,omitempty"`
	// Groups are to be taken out of uv's default-groups; then there is no package.
	Groups []string `json:"default_groups,omitempty"`
}

// IsRange reports whether a hold is a range of releases and nothing else, which Dependabot can be told.
func (h Hold) IsRange() bool { return h.Before != "" && h.Index == "" && len(h.Groups) == 0 }

// UnreadFile is a file that was not compared.
type UnreadFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Costs reports whether a change takes a GPU or a driver away, or leaves that open.
func (c FileChange) Costs() bool {
	return len(c.Losses()) > 0 || c.Broken() || c.RaisesDriver() || len(c.Images) > 0 || len(c.Unknown) > 0 ||
		slices.ContainsFunc(c.Parts, PartChange.Costs)
}

// Losses returns the changes that cost something, without what is only noted.
func (c FileChange) Losses() []Change {
	return slices.DeleteFunc(slices.Clone(c.Changes), func(o Change) bool { return !o.Costs() || c.IsNoted(o) })
}

// IsNoted reports whether a change is a note: an older release lowers the driver for x86 hosts, and has no CUDA build for
// Arm hosts.
func (c FileChange) IsNoted(o Change) bool {
	lowers := c.OldDriver != "" && c.NewDriver != "" && version.CompareTexts(c.NewDriver, c.OldDriver) < 0
	return lowers && o.Kind == "lost" && o.Arch == "aarch64" && slices.ContainsFunc(o.Because, func(n Need) bool { return n.Rule == "cpu-only-build" })
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
	// What is only noted, as an extra's build beside the project's own, is told where nothing else of the name is there.
	counts := func(name string) bool {
		counted := func(b Build) bool { return b.Name == name && b.Counts }
		return slices.ContainsFunc(old.Builds, counted) || slices.ContainsFunc(now.Builds, counted)
	}
	versions := func(r Requirement, name string) (all []string) {
		counted := counts(name)
		for _, b := range r.Builds {
			if counted && !b.Counts {
				continue
			}
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
