package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// through returns the files that differ and that an unchanged file includes. They are the reason why it is compared.
func (c *treesComparison) through(name, oldName string) (list []string) {
	for _, side := range []struct {
		tree projectTree
		name string
	}{{c.now, name}, {c.old, oldName}} {
		file := filepath.Join(side.tree.dir, filepath.FromSlash(side.name))
		for _, included := range includedBy(file, side.tree.dir) {
			for _, dir := range []string{filepath.Dir(filepath.FromSlash(side.name)), "."} {
				path := filepath.ToSlash(filepath.Join(dir, strings.TrimPrefix(included, "/")))
				if filepath.IsLocal(path) && path != side.name && !slices.Contains(list, path) && c.touches(path) {
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

// includedBy returns the names of the files that one is read with.
func includedBy(file, root string) (names []string) {
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
func (c *treesComparison) compareIncludedProjects(ctx context.Context) {
	for _, f := range slices.Clone(c.result.Files) {
		for _, project := range f.Through {
			known := func(o requires.FileChange) bool { return o.File == project }
			if filepath.Base(project) != "pyproject.toml" || slices.ContainsFunc(c.result.Files, known) {
				continue
			}
			read := func(t projectTree) (*facts.Facts, error) {
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

// unknownBase returns the image that a file starts from, if nothing says what is in it: an installer keeps the release
// there if it fits the range that is asked for.
func (c *treesComparison) unknownBase(ctx context.Context, f facts.Facts) string {
	for _, e := range f.Environments {
		for _, r := range e.Requested {
			if r.Origin != "image" {
				continue
			}
			alone := f
			alone.Unread = nil
			alone.Environments = []facts.Environment{{Kind: e.Kind, Path: e.Path, Active: true, Requested: []facts.Requested{r}}}
			if len(c.requires(ctx, alone).Unknown) > 0 {
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

// globalArg matches an ARG with a default.
var globalArg = lazyregexp.New(`(?i)^ARG\s+(\w+)=["']?([^\s"']+)`)

// fromLine matches the instruction that begins a stage.
var fromLine = lazyregexp.New(`(?i)^FROM\s`)

// changedArgs returns the arguments before a Dockerfile's first FROM whose default differs and that a FROM names.
func (c *treesComparison) changedArgs(name, oldName string) (list []requires.ArgChange) {
	read := func(t projectTree, name string) (args map[string]string, names []string, stages string) {
		args = map[string]string{}
		file := filepath.Join(t.dir, filepath.FromSlash(name))
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > inputs.MaxFile {
			return args, nil, ""
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return args, nil, ""
		}
		for line := range strings.Lines(string(data)) {
			switch m := globalArg.FindStringSubmatch(line); {
			case fromLine.MatchString(line):
				stages += line
			case m != nil && stages == "":
				args[m[1]], names = m[2], append(names, m[1])
			}
		}
		return args, names, stages
	}
	if base := strings.ToLower(filepath.Base(name)); !strings.Contains(base, "dockerfile") && base != "containerfile" {
		return nil
	}
	was, _, _ := read(c.old, oldName)
	is, names, stages := read(c.now, name)
	for _, arg := range names {
		used := regexp.MustCompile(`\$\{?` + regexp.QuoteMeta(arg) + `\b`).MatchString(stages)
		if old := was[arg]; used && old != "" && old != is[arg] && len(list) < 3 {
			list = append(list, requires.ArgChange{Name: arg, Old: old, New: is[arg]})
		}
	}
	return list
}
