package treediff

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/inputs"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// findHolds finds what keeps the requirement of a file as it was. It runs the comparison on the file with all of it, and returns
// nothing if that still costs something.
func (c *comparison) findHolds(ctx context.Context, change requires.FileChange, s sides) []requires.Hold {
	none := []requires.Hold{}
	if len(change.Losses()) == 0 && !change.RaisesDriver() {
		return none
	}
	if h := c.holdGroups(ctx, change, s); h != nil {
		return []requires.Hold{*h}
	}
	var costing []requires.PackageChange
	for _, p := range change.Packages {
		if isReason(change, p) && p.Old != "" && p.New != "" && p.Old != requires.OpenVersion && p.New != requires.OpenVersion {
			costing = append(costing, p)
		}
	}
	list := none
	for i, p := range costing {
		// While one is looked for, the others stay at their old releases.
		others := slices.Clone(list)
		for _, o := range costing[i+1:] {
			others = append(others, holdOldRelease(o))
		}
		h, found := c.findHold(ctx, p, func(h requires.Hold) bool { return c.restores(ctx, s, append(slices.Clone(others), h)) })
		if !found {
			return none
		}
		list = append(list, h)
	}
	return list
}

// holdOldRelease returns a hold at exactly the release of before.
func holdOldRelease(p requires.PackageChange) requires.Hold {
	release, local, _ := strings.Cut(p.Old, "+")
	h := requires.Hold{Package: p.Name, Newest: release}
	if _, now, _ := strings.Cut(p.New, "+"); now != local {
		h.Index = cmp.Or(local, pypi)
	}
	return h
}

// isReason reports whether a package's change is a reason for what a file's costs.
func isReason(change requires.FileChange, p requires.PackageChange) bool {
	return slices.ContainsFunc(change.Changes, func(o requires.Change) bool {
		return o.Costs() && slices.ContainsFunc(o.Because, func(n requires.Need) bool { return strings.HasPrefix(n.Subject, p.Name+" ") })
	})
}

// findHold finds what holds one package, best first: a range of releases on the new index, then the old index, with a range if
// it has releases that cost something. restores runs the comparison on the file with it.
func (c *comparison) findHold(ctx context.Context, p requires.PackageChange, restores func(requires.Hold) bool) (h requires.Hold, found bool) {
	key := [3]string{p.Name, p.Old, p.New}
	if known, tried := c.held[key]; tried && restores(known) { // the same bump in another file
		return known, true
	}
	old, oldLocal, _ := strings.Cut(p.Old, "+")
	now, newLocal, _ := strings.Cut(p.New, "+")
	releases := slices.DeleteFunc(matrix.Releases(c.Tables, p.Name), func(release string) bool {
		return matrix.CompareReleases(release, now) > 0 || matrix.CompareReleases(release, old) < 0
	})
	search := func(index string) bool {
		h = requires.Hold{Package: p.Name, Before: now, Index: index}
		if index != "" {
			h.Instead = cmp.Or(newLocal, pypi)
		}
		for _, release := range slices.Backward(releases) {
			switch h.Newest = release; {
			case ctx.Err() != nil:
				return false
			case release == now && index == "": // this is what costs something
			case restores(h):
				if release == now {
					h.Before = ""
				}
				return true
			default:
				h.Before = release
			}
		}
		return false
	}
	found = matrix.CompareReleases(old, now) < 0 && search("") || oldLocal != newLocal && search(cmp.Or(oldLocal, pypi))
	if found {
		c.held[key] = h
	}
	return h, found
}

// pypi names the index whose wheels have no local version.
const pypi = "PyPI"

func addLocal(release, local string) string {
	if local == "" {
		return release
	}
	return release + "+" + local
}

// restores reports whether a file with holds requires no more than before. What goes with a held package is that of before,
// as an installer takes it.
func (c *comparison) restores(ctx context.Context, s sides, list []requires.Hold) bool {
	after := s.after
	after.Environments = slices.Clone(after.Environments)
	for i := range after.Environments {
		e := &after.Environments[i]
		j := slices.IndexFunc(s.before.Environments, func(b facts.Environment) bool { return b.Path == e.Path })
		if j < 0 {
			continue
		}
		was := s.before.Environments[j]
		e.Builds, e.Requested, e.Packages = slices.Clone(e.Builds), slices.Clone(e.Requested), was.Packages
		for k := range e.Builds {
			b := &e.Builds[k]
			unchanged := slices.ContainsFunc(was.Builds, func(o facts.Build) bool { return o.Name == b.Name && o.Version == b.Version })
			for _, h := range list {
				if b.Name == h.Package && !unchanged {
					_, local, _ := strings.Cut(b.Version, "+")
					if h.Index != "" {
						local, b.Index, b.Accelerator, b.CUDA = strings.TrimPrefix(h.Index, pypi), h.Index, "", ""
						if h.Index == pypi {
							b.Index = defaultIndex
						}
					}
					b.Version = addLocal(h.Newest, local)
				}
			}
		}
		isOld := func(name string) int {
			return slices.IndexFunc(was.Requested, func(o facts.Requested) bool { return o.Name == name })
		}
		e.Requested = slices.DeleteFunc(e.Requested, func(r facts.Requested) bool { return probe.GoesWithFramework(r.Name) && isOld(r.Name) < 0 })
		for k := range e.Requested {
			r := &e.Requested[k]
			held := slices.IndexFunc(list, func(h requires.Hold) bool { return h.Package == r.Name })
			if held >= 0 {
				r.Version = list[held].Newest
				continue
			}
			if old := isOld(r.Name); old >= 0 && probe.GoesWithFramework(r.Name) {
				*r = was.Requested[old]
			}
		}
	}
	now := c.computeRequirement(ctx, after)
	return !slices.ContainsFunc(requires.CompareProjects(s.old, now).Changes, requires.Change.Costs) && len(now.Unknown) <= len(s.now.Unknown) &&
		findKnownDriver(now) == findKnownDriver(s.old)
}

// defaultIndex is a build's index where that is the installer's own.
const defaultIndex = "default"

// listNewDefaultGroups returns the groups that a plain `uv sync` of a file's project installs now, and did not before.
func (c *comparison) listNewDefaultGroups(name, oldName string) []string {
	now, ok := c.readProjectBeside(c.now, name)
	if !ok {
		return nil
	}
	old, ok := c.readProjectBeside(c.old, oldName)
	if !ok {
		return nil
	}
	was := probe.ListedDefaultGroups(old)
	return slices.DeleteFunc(probe.ListedDefaultGroups(now), func(group string) bool {
		return slices.Contains(was, group) || len(was) == 0 && group == "dev"
	})
}

// readProjectBeside returns the text of the pyproject.toml that a file is, or of the one beside uv.lock.
func (c *comparison) readProjectBeside(t tree, name string) ([]byte, bool) {
	if base := filepath.Base(name); base != "pyproject.toml" && base != "uv.lock" {
		return nil, false
	}
	path := filepath.Join(t.dir, filepath.Dir(filepath.FromSlash(name)), "pyproject.toml")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > inputs.MaxFile {
		return nil, false
	}
	data, err := os.ReadFile(path)
	return data, err == nil
}

// holdGroups returns the groups to take out of default-groups, if the file without them costs nothing.
func (c *comparison) holdGroups(ctx context.Context, change requires.FileChange, s sides) *requires.Hold {
	if len(change.DefaultGroups) == 0 {
		return nil
	}
	project, ok := c.readProjectBeside(c.now, change.File)
	if !ok {
		return nil
	}
	changed, err := probe.DropDefaultGroups(project, change.DefaultGroups)
	if err != nil {
		return nil
	}
	path := filepath.Join(c.now.dir, filepath.FromSlash(change.File))
	includes, err := inputs.NewFence(path, c.now.dir)
	data, failed := os.ReadFile(path)
	if err != nil || failed != nil || len(data) > inputs.MaxFile {
		return nil
	}
	if filepath.Base(path) == "pyproject.toml" {
		data = changed
	}
	d := inputs.NewDocument(path, data, includes)
	d.Beside = func(name string) ([]byte, error) {
		if name == "pyproject.toml" {
			return changed, nil
		}
		return includes.Read(name)
	}
	f, err := probe.GivenFile(d)
	if err != nil {
		return nil
	}
	f.OnPython(c.Python)
	without := c.settleSides(ctx, "changed", s.before, f)
	without.old = s.old
	if slices.ContainsFunc(requires.CompareProjects(s.old, without.now).Changes, requires.Change.Costs) ||
		len(without.now.Unknown) > 0 || findKnownDriver(without.now) != findKnownDriver(s.old) {
		return nil
	}
	return &requires.Hold{Groups: change.DefaultGroups}
}

// nameMoves notes the releases that one file lost and another one got: the line only moved.
func nameMoves(files []requires.FileChange) {
	for i := range files {
		for j := range files[i].Packages {
			gone := &files[i].Packages[j]
			if gone.New != "" || gone.Moved != "" {
				continue
			}
			for k := range files {
				came := slices.IndexFunc(files[k].Packages, func(p requires.PackageChange) bool {
					return p.Old == "" && p.Moved == "" && p.Name == gone.Name && p.New == gone.Old
				})
				if k != i && came >= 0 {
					gone.Moved, files[k].Packages[came].Moved = files[k].File, files[i].File
					break
				}
			}
		}
	}
}

// lookUpRequirement returns what one release needs; ok is false where that is unknown.
func (c *comparison) lookUpRequirement(ctx context.Context, text string) (r requires.Requirement, ok bool) {
	f, err := probe.GivenFile(probe.Document{Data: []byte(text), Typed: true})
	if err != nil {
		return r, false
	}
	f.OnPython(c.Python)
	r = c.computeRequirement(ctx, f)
	return r, len(r.Unknown) == 0 && len(r.Builds) > 0
}
