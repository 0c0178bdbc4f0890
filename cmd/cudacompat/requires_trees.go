package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Limits of a comparison of two directories. A pull request may add any number of files.
const (
	maxTreeEntries = 50_000
	maxTreeFiles   = 500 // that differ
)

// projectTree maps paths to the project files of a directory.
type projectTree struct {
	dir    string
	files  map[string]int64  // sizes; notRegular for a link, a pipe or a device
	locked map[string]string // the pyproject.toml that a lock takes the place of, by the lock
}

// notRegular stands for the size of anything but a regular file.
const notRegular = -1

// readTree lists the project files of a directory. It follows no link.
func readTree(ctx context.Context, dir string) (projectTree, error) {
	t := projectTree{dir, map[string]int64{}, map[string]string{}}
	entries := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch entries++; {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case entries > maxTreeEntries:
			return fmt.Errorf("more than %d files and directories are in it", maxTreeEntries)
		case entry.IsDir() && isInstalled(path):
			return fs.SkipDir
		case entry.IsDir() || !inputs.IsProjectFile(path):
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !entry.Type().IsRegular() {
			t.files[filepath.ToSlash(name)] = notRegular
			return nil
		}
		if info, failed := entry.Info(); err == nil && failed == nil {
			t.files[filepath.ToSlash(name)] = info.Size()
		}
		return err
	})
	if err != nil {
		return t, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", dir, usage.StripPath(err)), Hint: "give a directory with the files of a project"}
	}
	for name := range t.files {
		if filepath.Base(name) != "pyproject.toml" {
			continue
		}
		for _, lock := range inputs.ProjectLocks {
			if lock = strings.TrimSuffix(name, "pyproject.toml") + lock; t.files[lock] > 0 {
				t.locked[lock] = name
				delete(t.files, name)
			}
		}
	}
	return t, nil
}

// installedMarks are what git, venv, npm, pnpm and Yarn put into the directories that they fill.
var installedMarks = map[string][]string{".git": {"HEAD"}, ".venv": {"pyvenv.cfg"},
	"node_modules": {".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml"}}

// isInstalled reports whether a directory is one that a tool fills: what is in it is no file of the project.
func isInstalled(dir string) bool {
	return slices.ContainsFunc(installedMarks[filepath.Base(dir)], func(mark string) bool { return inputs.Exists(filepath.Join(dir, mark)) })
}

// treeNames returns the names of both trees, sorted.
func treeNames(old, now projectTree) []string {
	var names []string
	for _, t := range []projectTree{old, now} {
		for name := range t.files {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// comparesTrees reports whether --diff and the argument are two directories, neither of which is an environment.
func (f *requiresFlags) comparesTrees(args []string) bool {
	isTree := func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir() && !probe.IsEnvironment(probe.This(), name) && !isImageDirectory(name)
	}
	return f.old != "" && len(args) == 1 && isTree(f.old) && isTree(args[0])
}

// isImageDirectory reports whether a directory is the layout of an OCI image.
func isImageDirectory(name string) bool {
	_, err := os.Stat(filepath.Join(name, "oci-layout"))
	return err == nil
}

// treesComparison is the state of a comparison of two directories.
type treesComparison struct {
	*requiresFlags
	tables  *matrix.Tables
	targets []matrix.Target
	promise promise
	old     projectTree
	now     projectTree
	result  requires.Trees
	held    map[[3]string]requires.Hold
	needs   map[string]requires.Requirement // by what was read
}

// runTrees compares the project files of two directories.
func (f *requiresFlags) runTrees(ctx context.Context, s streams, args []string) error {
	outputs, err := output.Parse(needs.TreesFormats, f.formats, f.colour, f.all, s.out, s.err)
	if err != nil {
		return err
	}
	tables, err := f.load(ctx)
	if err != nil {
		return err
	}
	c := &treesComparison{requiresFlags: f, tables: tables, held: map[[3]string]requires.Hold{}, needs: map[string]requires.Requirement{}}
	if c.targets, err = f.targets(tables); err != nil {
		return err
	}
	if f.supports {
		if c.promise, c.result.PromiseFrom, err = f.readPromise(); err != nil {
			return err
		}
	}
	ctx, cancel := deadline.Set(ctx, cmp.Or(f.timeout, deadline.Rest))
	defer cancel()
	if c.old, err = readTree(ctx, f.old); err == nil {
		c.now, err = readTree(ctx, args[0])
	}
	if err != nil {
		return err
	}
	if err := c.compare(ctx); err != nil {
		return err
	}
	if err := outputs.Write(ctx, needs.Trees{Trees: c.result, Tool: tool(tables, true)}); err != nil {
		return err
	}
	switch {
	case c.result.Broken():
		return exitError(exitIncompatible)
	case c.result.Undecided():
		return exitError(exitInconclusive)
	}
	return nil
}

// compare compares each file of the two trees that differs.
func (c *treesComparison) compare(ctx context.Context) error {
	c.result.Schema, c.result.Old, c.result.New = requires.TreesSchema, c.old.dir, c.now.dir
	c.result.Files, c.result.Unread = []requires.FileChange{}, []requires.UnreadFile{}
	promised, err := c.promiseTargets()
	if err != nil {
		return err
	}
	compared := 0
	was := c.renames()
	defer func() {
		nameMoves(c.result.Files)
		c.nameDecided()
	}()
	for _, name := range treeNames(c.old, c.now) {
		if slices.Contains(slices.Collect(maps.Values(was)), name) {
			continue
		}
		before, after, differs, err := c.read(name, cmp.Or(was[name], name))
		if !differs {
			continue
		}
		compared++
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case compared > maxTreeFiles:
			err = fmt.Errorf("more than %d files differ", maxTreeFiles)
		}
		if err != nil {
			c.result.Unread = append(c.result.Unread, requires.UnreadFile{File: name, Reason: err.Error()})
			continue
		}
		change, err := deadline.Run(ctx, func() (requires.FileChange, error) {
			return c.compareFile(ctx, name, cmp.Or(was[name], name), before, after, promised), nil
		})
		change.OldFile = was[name]
		if before != nil && after != nil && !c.touches(filepath.FromSlash(name)) {
			change.Through = c.through(name, cmp.Or(was[name], name))
		}
		if err != nil {
			c.result.Unread = append(c.result.Unread, requires.UnreadFile{File: name, Reason: err.Error()})
			continue
		}
		c.result.Files = append(c.result.Files, change)
	}
	c.compareIncludedProjects(ctx)
	return nil
}

// nameDecided notes the projects that differ and whose lock, which stands for them, does not.
func (c *treesComparison) nameDecided() {
	for _, lock := range slices.Sorted(maps.Keys(c.now.locked)) {
		project := c.now.locked[lock]
		differs := func(f requires.FileChange) bool { return f.File == lock }
		unread := func(u requires.UnreadFile) bool { return u.File == lock }
		if c.old.locked[lock] == project && c.touches(project) && !slices.ContainsFunc(c.result.Files, differs) &&
			!slices.ContainsFunc(c.result.Unread, unread) {
			c.result.Decided = append(c.result.Decided, requires.Decided{Project: project, Lock: lock})
		}
	}
}

// read reads a file of both trees, by its name in each; differs says whether there is anything to compare. A nil side has
// no such file.
func (c *treesComparison) read(name, old string) (before, after *facts.Facts, differs bool, err error) {
	oldSize, was := c.old.files[old]
	size, is := c.now.files[name]
	if was && is && oldSize == notRegular && size == notRegular {
		return nil, nil, false, nil
	}
	same := was && is && oldSize == size && sameContent(filepath.Join(c.old.dir, filepath.FromSlash(old)),
		filepath.Join(c.now.dir, filepath.FromSlash(name)))
	before, wrong := c.readSide(c.old, old)
	if after, err = c.readSide(c.now, name); err != nil {
		project := c.now.locked[name]
		return before, nil, !same || project != "" && c.touches(project), err
	}
	if wrong != nil { // what it asked for may be lost
		return nil, nil, true, fmt.Errorf("before the change: %w", wrong)
	}
	if same {
		if err := c.changedUnread(name, after); err != nil {
			return nil, nil, true, err
		}
		return before, after, !sameFacts(before, after), nil // an included file may differ
	}
	return before, after, true, nil
}

// changedUnread returns an error if a file that differs is one that an unchanged file names and that was not read: a Python
// script of a Dockerfile, or an archive that it unpacks.
func (c *treesComparison) changedUnread(name string, f *facts.Facts) error {
	if f == nil {
		return nil
	}
	for _, u := range f.Unread {
		for word := range strings.FieldsSeq(u.Place + " " + u.Reason) {
			for _, dir := range []string{filepath.Dir(name), "."} {
				if path := filepath.Join(dir, strings.TrimPrefix(word, "/")); filepath.IsLocal(path) && c.touches(path) {
					return fmt.Errorf("%s changes, and was not read", path)
				}
			}
		}
	}
	return nil
}

// touches reports whether a path is a regular file in one tree, and missing or different in the other.
func (c *treesComparison) touches(path string) bool {
	a, b := filepath.Join(c.old.dir, path), filepath.Join(c.now.dir, path)
	before, errA := os.Lstat(a)
	after, errB := os.Lstat(b)
	was, is := errA == nil && before.Mode().IsRegular(), errB == nil && after.Mode().IsRegular()
	return was != is || was && is && (before.Size() != after.Size() || !sameContent(a, b))
}

// readSide reads a file of one tree, or returns nil if the tree does not have it.
func (c *treesComparison) readSide(t projectTree, name string) (*facts.Facts, error) {
	switch size, there := t.files[name]; {
	case !there:
		return nil, nil
	case size == notRegular:
		return nil, errors.New("it is not a regular file, and links are not followed")
	}
	f, err := inputs.ReadFacts(filepath.Join(t.dir, filepath.FromSlash(name)), c.python, t.dir, nil)
	if err != nil {
		if said := new(usage.Error); errors.As(err, &said) {
			err = errors.New(strings.ReplaceAll(said.Message, t.dir+string(filepath.Separator), ""))
		}
		return nil, err
	}
	return &f, nil
}

// sameContent reports whether two files were read completely and are equal.
func sameContent(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	blockX, blockY := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errX := io.ReadFull(x, blockX)
		m, errY := io.ReadFull(y, blockY)
		switch {
		case !bytes.Equal(blockX[:n], blockY[:m]):
			return false
		case errX != nil:
			ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			return ended(errX) && ended(errY)
		}
	}
}

// sameFacts reports whether two reads found the same.
func sameFacts(a, b *facts.Facts) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := json.Marshal(a.Environments)
	y, errY := json.Marshal(b.Environments)
	return errX == nil && errY == nil && bytes.Equal(x, y) && len(a.Unread) == len(b.Unread)
}

// compareFile says what the change of one file costs.
func (c *treesComparison) compareFile(ctx context.Context, name, oldName string, before, after *facts.Facts, promised []matrix.Target) requires.FileChange {
	change := requires.FileChange{File: name, State: "changed", Packages: []requires.PackageChange{}, Changes: []requires.Change{},
		Targets: []requires.TargetChange{}, Supports: []requires.Supported{}, Images: []requires.ImageChange{}, Holds: []requires.Hold{}, Unknown: []requires.Missing{}}
	var none facts.Facts
	none.Complete()
	switch {
	case after == nil:
		change.State, after = "removed", &none
	case before == nil:
		change.State, before = "added", &none
	}
	s := c.settle(ctx, change.State, *before, *after)
	change.Packages = dropStaying(requires.ComparePackages(s.old, s.now), s.before, s.after)
	change.BuildArgs = c.changedArgs(name, oldName)
	nameRanges(change.Packages, s.oldRanges, s.newRanges)
	change.OldDriver, change.NewDriver = knownDriver(s.old), knownDriver(s.now)
	switch change.State {
	case "changed":
		if base := c.unknownBase(ctx, s.after); base != "" && len(s.oldRanges)+len(s.newRanges) > 0 {
			change.Packages, change.OldDriver, change.NewDriver = []requires.PackageChange{}, "", ""
			change.Images = matrix.CompareImages(c.tables, s.before, s.after)
			change.Unknown = append(change.Unknown, requires.Missing{Rule: "not-looked-at", Subject: base, MissingFact: verdict.MissingFact{Missing: requires.BaseMayHold}})
			return change
		}
		if len(s.old.Builds) > 0 { // what asked for nothing had no hosts to lose
			change.Changes = requires.CompareProjects(s.old, s.now).Changes
		}
		change.Targets = matrix.CompareTargets(ctx, c.tables, s.before, s.after, c.targets)
		change.Images = matrix.CompareImages(c.tables, s.before, s.after)
		change.Unknown = append(change.Unknown, unknownOf(s.old, s.now)...)
		change.Parts = c.compareParts(ctx, s)
		change.Unchanged = unchangedBuilds(s.old, s.now)
		change.Arm = c.armChange(ctx, change)
		change.DefaultGroups = c.newDefaultGroups(name, oldName)
		change.Holds = c.holds(ctx, change, s)
	case "added":
		change.Targets = matrix.CompareTargets(ctx, c.tables, s.before, s.after, c.targets)
		change.Unknown = append(change.Unknown, s.now.Unknown...)
	}
	if d := s.now.Declared; d != nil && (s.old.Declared == nil || *s.old.Declared != *d) {
		change.Declared = d
	}
	if change.State != "removed" {
		change.Supports = c.newlyBroken(ctx, s.before, s.after, promised)
	}
	return change
}

// sides are both states of a file, ready to be compared: without what both leave open, and with the newest release that the
// tables know in place of each range that the change moved.
type sides struct {
	before, after        facts.Facts
	old, now             requires.Requirement
	oldRanges, newRanges ranges
}

func (c *treesComparison) settle(ctx context.Context, state string, before, after facts.Facts) sides {
	s := sides{before: before, after: after, old: c.requires(ctx, before), now: c.requires(ctx, after)}
	if b, a, shared := dropShared(before, after, s.old, s.now); shared {
		s = sides{before: b, after: a, old: c.requires(ctx, b), now: c.requires(ctx, a)}
	}
	if state == "changed" {
		s.before, s.after, s.oldRanges, s.newRanges = c.takeNewest(ctx, s.before, s.after)
		s.old, s.now = c.requires(ctx, s.before), c.requires(ctx, s.after)
	}
	return s
}

// knownDriver returns the oldest driver that will do; empty where nothing asks, or where that is unknown.
func knownDriver(r requires.Requirement) string {
	if len(r.Builds) == 0 || len(r.Unknown) > 0 {
		return ""
	}
	return matrix.OldestDriver(r)
}

// armChange returns the package that an older release, which lowers the driver, takes off the GPUs of Arm hosts. It compares
// the package by itself: another one beside it may still have a build for these GPUs.
func (c *treesComparison) armChange(ctx context.Context, change requires.FileChange) *requires.ArmChange {
	for _, p := range change.Packages {
		if p.Old == "" || p.New == "" || p.Old == requires.OpenVersion || p.New == requires.OpenVersion || strings.Contains(p.Name+p.Old+p.New, "/") ||
			strings.Contains(p.Old+p.New, "+") {
			continue
		}
		old, known := c.requirementOf(ctx, p.Name+"=="+p.Old)
		now, also := c.requirementOf(ctx, p.Name+"=="+p.New)
		if !known || !also {
			continue
		}
		alone := change
		alone.Changes = requires.CompareProjects(old, now).Changes
		var names []string
		for _, o := range alone.Changes {
			if alone.IsNoted(o) {
				names = append(names, o.GPUs...)
			}
		}
		if len(names) > 0 {
			return &requires.ArmChange{Package: p.Name, Old: p.Old, New: p.New, GPUs: names}
		}
	}
	return nil
}

// unchangedBuilds returns the builds that count and are the same on both sides: "torch 2.8.0+cu128".
func unchangedBuilds(old, now requires.Requirement) []string {
	var list []string
	for _, b := range now.Builds {
		words := strings.TrimSpace(b.Name + " " + b.Version)
		same := func(o requires.Build) bool { return o.Name == b.Name && o.Version == b.Version }
		if b.Counts && !strings.Contains(b.Name, "/") && slices.ContainsFunc(old.Builds, same) && !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	return list
}

// compareParts compares each extra and group that has builds of its own, for those who ask for it.
func (c *treesComparison) compareParts(ctx context.Context, s sides) []requires.PartChange {
	only := func(f facts.Facts, path string) (facts.Facts, bool) {
		i := slices.IndexFunc(f.Environments, func(e facts.Environment) bool { return e.Path == path && len(e.Builds) > 0 })
		if i < 0 {
			f.Environments = nil
			return f, false
		}
		f.Environments = []facts.Environment{f.Environments[i]}
		f.Environments[0].Active = true
		return f, true
	}
	var paths []string
	for _, f := range []facts.Facts{s.before, s.after} {
		for _, e := range f.Environments {
			if e.Path != "" && len(e.Builds) > 0 && !slices.Contains(paths, e.Path) {
				paths = append(paths, e.Path)
			}
		}
	}
	var list []requires.PartChange
	for _, path := range paths[:min(len(paths), maxParts)] {
		before, was := only(s.before, path)
		after, is := only(s.after, path)
		if was && is && sameFacts(&before, &after) {
			continue
		}
		old, now := c.requires(ctx, before), c.requires(ctx, after)
		p := requires.PartChange{Part: path, State: "changed", Packages: requires.ComparePackages(old, now), Changes: []requires.Change{},
			OldDriver: knownDriver(old), NewDriver: knownDriver(now)}
		nameRanges(p.Packages, s.oldRanges, s.newRanges)
		switch {
		case !was:
			p.State = "added"
		case !is:
			p.State = "removed"
		default:
			p.Changes = requires.CompareProjects(old, now).Changes
		}
		if len(p.Packages) > 0 || p.Costs() {
			list = append(list, p)
		}
	}
	return list
}

// maxParts bounds the extras and groups of one file that are compared.
const maxParts = 40

// requires returns what is needed by what was read, worked out once for files that say the same.
func (c *treesComparison) requires(ctx context.Context, f facts.Facts) requires.Requirement {
	key, err := json.Marshal(f)
	if r, known := c.needs[string(key)]; known && err == nil {
		return r
	}
	r := matrix.Requires(ctx, c.tables, f, c.python)
	if err == nil && ctx.Err() == nil {
		c.needs[string(key)] = r
	}
	return r
}

// newlyBroken returns the parts of the promise that held before the change and no longer do.
func (c *treesComparison) newlyBroken(ctx context.Context, before, after facts.Facts, promised []matrix.Target) []requires.Supported {
	list := []requires.Supported{}
	if c.promise.isEmpty() {
		return list
	}
	now := matrix.Supports(ctx, c.tables, after, promised, c.promise.platforms)
	if !slices.ContainsFunc(now, func(s requires.Supported) bool { return !s.Holds }) {
		return list
	}
	was := matrix.Supports(ctx, c.tables, before, promised, c.promise.platforms)
	for i, s := range now {
		if !s.Holds && was[i].Holds {
			list = append(list, s)
		}
	}
	return list
}
