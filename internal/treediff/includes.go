package treediff

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// listIncludedChanges returns the files that differ and that an unchanged file includes. They are the reason why it is compared.
func (c *comparison) listIncludedChanges(name, oldName string) (list []string) {
	for _, side := range []struct {
		tree tree
		name string
	}{{c.now, name}, {c.old, oldName}} {
		file := filepath.Join(side.tree.dir, filepath.FromSlash(side.name))
		for _, included := range listIncluded(file, side.tree.dir) {
			for _, dir := range []string{filepath.Dir(filepath.FromSlash(side.name)), "."} {
				path := filepath.ToSlash(filepath.Join(dir, strings.TrimPrefix(included, "/")))
				if filepath.IsLocal(path) && path != side.name && !slices.Contains(list, path) && c.isTouched(path) {
					list = append(list, path)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(list, func(path string) bool { // the lock stands for its project
		return slices.ContainsFunc(list, func(lock string) bool { return c.now.locked[lock] == path })
	})
}

// listIncluded returns the names of the files that one is read with.
func listIncluded(file, root string) (names []string) {
	includes, err := inputs.NewFence(file, root)
	if err != nil {
		return nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, inputs.MaxFile+1))
	if err != nil || len(data) > inputs.MaxFile {
		return nil
	}
	d := inputs.NewDocument(file, data, includes)
	d.Beside = func(name string) ([]byte, error) {
		names = append(names, name)
		return includes.Read(name)
	}
	_, _ = probe.GivenFile(d) // for what it includes
	return names
}

// compareIncludedProjects compares the changed pyproject.toml files that unchanged files include. A lock takes their place
// for those who work on the project, and not for those who install it with pip.
func (c *comparison) compareIncludedProjects(ctx context.Context) {
	for _, f := range slices.Clone(c.result.Files) {
		for _, project := range f.Through {
			known := func(o requires.FileChange) bool { return o.File == project }
			if filepath.Base(project) != "pyproject.toml" || slices.ContainsFunc(c.result.Files, known) {
				continue
			}
			read := func(t tree) (*facts.Facts, error) {
				t.files = map[string]int64{project: 0}
				return c.readSide(t, project)
			}
			before, err := read(c.old)
			after, wrong := read(c.now)
			if err != nil || wrong != nil {
				continue
			}
			change, err := deadline.Run(ctx, func() (requires.FileChange, error) {
				return c.compareFile(ctx, project, project, before, after, nil), nil
			})
			if err == nil && len(change.Packages) > 0 {
				c.result.Files = append(c.result.Files, change)
			}
		}
	}
	slices.SortStableFunc(c.result.Files, func(a, b requires.FileChange) int { return cmp.Compare(a.File, b.File) })
}

// findUnknownBase returns the image that a file starts from, if nothing says what is in it: an installer keeps the release
// there if it fits the range that is asked for.
func (c *comparison) findUnknownBase(ctx context.Context, f facts.Facts) string {
	for _, e := range f.Environments {
		for _, r := range e.Requested {
			if r.Origin != "image" {
				continue
			}
			alone := f
			alone.Unread = nil
			alone.Environments = []facts.Environment{{Kind: e.Kind, Path: e.Path, Active: true, Requested: []facts.Requested{r}}}
			if len(c.computeRequirement(ctx, alone).Unknown) > 0 {
				return strings.TrimSuffix(r.Name+":"+r.Version, ":")
			}
		}
	}
	return ""
}

// dropStaying removes a package that only looks added or removed: the same parts of both files name it, and only the
// requirements of its release became known or unknown.
func dropStaying(list []requires.PackageChange, before, after facts.Facts) []requires.PackageChange {
	parts := func(f facts.Facts, name string) (paths []string) {
		for _, e := range f.Environments {
			if slices.ContainsFunc(e.Builds, func(b facts.Build) bool { return b.Name == name }) ||
				slices.ContainsFunc(e.Requested, func(r facts.Requested) bool { return r.Name == name }) {
				paths = append(paths, e.Path)
			}
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	return slices.DeleteFunc(list, func(p requires.PackageChange) bool {
		was := parts(before, p.Name)
		return (p.Old == "" || p.New == "") && len(was) > 0 && slices.Equal(was, parts(after, p.Name))
	})
}

// maxArgs limits the arguments of one Dockerfile that are named.
const maxArgs = 3

// listChangedArgs returns the arguments before a Dockerfile's first FROM whose default differs and that a FROM names.
func (c *comparison) listChangedArgs(name, oldName string) (list []requires.ArgChange) {
	if base := strings.ToLower(filepath.Base(name)); !strings.Contains(base, "dockerfile") && base != "containerfile" {
		return nil
	}
	was := map[string]string{}
	for _, arg := range c.old.readArgs(oldName) {
		was[arg.Name] = arg.Default
	}
	for _, arg := range c.now.readArgs(name) {
		if old := was[arg.Name]; arg.InFrom && old != "" && arg.Default != "" && old != arg.Default && len(list) < maxArgs {
			list = append(list, requires.ArgChange{Name: arg.Name, Old: old, New: arg.Default})
		}
	}
	return list
}

// readArgs returns the arguments before the first FROM of a Dockerfile.
func (t tree) readArgs(name string) []probe.DockerfileArg {
	file := filepath.Join(t.dir, filepath.FromSlash(name))
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > inputs.MaxFile {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return probe.DockerfileArgs(data)
}
