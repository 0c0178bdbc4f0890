// Package treediff compares what two states of a repository require of a host, file by file.
//
// Compare reads the project files of two directories: locks, requirements, Dockerfiles and the like. For each file that
// differs, it says which packages changed, which drivers and GPUs that costs, and what holds the requirement as it was.
// A file that moved is compared with the file that it was. An unchanged file is compared if one that it includes
// differs. What could not be read is named, and leaves the result open.
package treediff

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

// tree maps paths to the project files of a directory.
type tree struct {
	dir    string
	files  map[string]int64  // sizes; notRegular for a link, a pipe or a device
	locked map[string]string // the pyproject.toml that a lock takes the place of, by the lock
}

// notRegular stands for the size of anything but a regular file.
const notRegular = -1

// readTree lists the project files of a directory. It follows no link except the directory itself.
func readTree(ctx context.Context, dir string) (tree, error) {
	t := tree{dir, map[string]int64{}, map[string]string{}}
	entries := 0
	err := filepath.WalkDir(dir+"/.", func(path string, entry fs.DirEntry, err error) error {
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

// listNames returns the names of both trees, sorted.
func listNames(old, now tree) []string {
	var names []string
	for _, t := range []tree{old, now} {
		for name := range t.files {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsTree reports whether a name is that of a directory that is neither an environment nor an image.
func IsTree(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && !probe.IsEnvironment(probe.This(), name) && !isImageDirectory(name)
}

// isImageDirectory reports whether a directory is the layout of an OCI image.
func isImageDirectory(name string) bool {
	_, err := os.Stat(filepath.Join(name, "oci-layout"))
	return err == nil
}

// Options says what the files of two trees are compared for.
type Options struct {
	Tables  *matrix.Tables
	Python  string
	Targets []matrix.Target // the hosts that must still work

	// What a configuration promises, and that must still hold.
	PromisedBy        string
	PromisedTargets   []matrix.Target
	PromisedPlatforms []string
}

// comparison is the state of a comparison of two directories.
type comparison struct {
	Options
	old    tree
	now    tree
	result requires.Trees
	held   map[[3]string]requires.Hold
	needs  map[string]requires.Requirement // by what was read
}

// Compare compares the project files of two directories, until ctx ends.
func Compare(ctx context.Context, old, now string, opt Options) (requires.Trees, error) {
	c := &comparison{Options: opt, held: map[[3]string]requires.Hold{}, needs: map[string]requires.Requirement{}}
	c.result.PromiseFrom = opt.PromisedBy
	var err error
	if c.old, err = readTree(ctx, old); err == nil {
		c.now, err = readTree(ctx, now)
	}
	if err != nil {
		return c.result, err
	}
	c.compareAll(ctx)
	return c.result, nil
}

// compareAll compares each file of the two trees that differs.
func (c *comparison) compareAll(ctx context.Context) {
	c.result.Schema, c.result.Old, c.result.New = requires.TreesSchema, c.old.dir, c.now.dir
	c.result.Files, c.result.Unread = []requires.FileChange{}, []requires.UnreadFile{}
	compared := 0
	was := c.findRenames()
	defer func() {
		nameMoves(c.result.Files)
		c.nameDecided()
	}()
	for _, name := range listNames(c.old, c.now) {
		if slices.Contains(slices.Collect(maps.Values(was)), name) {
			continue
		}
		before, after, differs, err := c.readBoth(name, cmp.Or(was[name], name))
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
			return c.compareFile(ctx, name, cmp.Or(was[name], name), before, after, c.PromisedTargets), nil
		})
		change.OldFile = was[name]
		if before != nil && after != nil && !c.isTouched(filepath.FromSlash(name)) {
			change.Through = c.listIncludedChanges(name, cmp.Or(was[name], name))
		}
		if err != nil {
			c.result.Unread = append(c.result.Unread, requires.UnreadFile{File: name, Reason: err.Error()})
			continue
		}
		c.result.Files = append(c.result.Files, change)
	}
	c.compareIncludedProjects(ctx)
}

// nameDecided notes the projects that differ and whose lock, which stands for them, does not.
func (c *comparison) nameDecided() {
	for _, lock := range slices.Sorted(maps.Keys(c.now.locked)) {
		project := c.now.locked[lock]
		differs := func(f requires.FileChange) bool { return f.File == lock }
		unread := func(u requires.UnreadFile) bool { return u.File == lock }
		if c.old.locked[lock] == project && c.isTouched(project) && !slices.ContainsFunc(c.result.Files, differs) &&
			!slices.ContainsFunc(c.result.Unread, unread) {
			c.result.Decided = append(c.result.Decided, requires.Decided{Project: project, Lock: lock})
		}
	}
}

// readBoth reads a file of both trees, by its name in each; differs says whether there is anything to compare. A nil side has
// no such file.
func (c *comparison) readBoth(name, old string) (before, after *facts.Facts, differs bool, err error) {
	oldSize, was := c.old.files[old]
	size, is := c.now.files[name]
	if was && is && oldSize == notRegular && size == notRegular {
		return nil, nil, false, nil
	}
	same := was && is && oldSize == size && haveSameContent(filepath.Join(c.old.dir, filepath.FromSlash(old)),
		filepath.Join(c.now.dir, filepath.FromSlash(name)))
	before, wrong := c.readSide(c.old, old)
	if after, err = c.readSide(c.now, name); err != nil {
		project := c.now.locked[name]
		return before, nil, !same || project != "" && c.isTouched(project), err
	}
	if wrong != nil { // what it asked for may be lost
		return nil, nil, true, fmt.Errorf("before the change: %w", wrong)
	}
	if same {
		if err := c.checkUnread(name, after); err != nil {
			return nil, nil, true, err
		}
		return before, after, !areSameFacts(before, after), nil // an included file may differ
	}
	return before, after, true, nil
}

// checkUnread returns an error if a file that differs is one that an unchanged file names and that was not read: a Python
// script of a Dockerfile, or an archive that it unpacks.
func (c *comparison) checkUnread(name string, f *facts.Facts) error {
	if f == nil {
		return nil
	}
	for _, u := range f.Unread {
		for word := range strings.FieldsSeq(u.Place + " " + u.Reason) {
			for _, dir := range []string{filepath.Dir(name), "."} {
				for _, path := range c.filesOf(dir, strings.TrimPrefix(word, "/")) {
					if filepath.IsLocal(path) && c.isTouched(path) {
						return fmt.Errorf("%s changes, and was not read", path)
					}
				}
			}
		}
	}
	return nil
}

// programFiles lists the files that say what a program does which a Dockerfile starts.
var programFiles = map[string][]string{"make": {"Makefile", "makefile", "GNUmakefile"}, "just": {"justfile", ".justfile"}, "tox": {"tox.ini"},
	"nox": {"noxfile.py"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "invoke": {"tasks.py"}, "inv": {"tasks.py"}}

// filesOf returns the files of both trees that a word of a command may mean: a file's path, a program's own files, or
// packages by a pattern such as /wheels/*.whl.
func (c *comparison) filesOf(dir, word string) []string {
	paths := []string{filepath.Join(dir, word)}
	for _, name := range programFiles[word] {
		paths = append(paths, filepath.Join(dir, name))
	}
	if pattern := filepath.Base(word); strings.HasSuffix(pattern, ".whl") && strings.Contains(pattern, "*") {
		for _, side := range []tree{c.old, c.now} {
			paths = append(paths, side.matching(dir, pattern, true)...)
		}
	}
	return paths
}

// matching returns the files of a directory, and with below set of the directories in it, whose names match a pattern. COPY may
// have given such a directory another name.
func (t tree) matching(dir, pattern string, below bool) (paths []string) {
	entries, _ := os.ReadDir(filepath.Join(t.dir, dir))
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ok, _ := filepath.Match(pattern, e.Name()); ok {
			paths = append(paths, path)
		}
		if e.IsDir() && below {
			paths = append(paths, t.matching(path, pattern, false)...)
		}
	}
	return paths
}

// isTouched reports whether a path is a regular file in one tree, and missing or different in the other.
func (c *comparison) isTouched(path string) bool {
	a, b := filepath.Join(c.old.dir, path), filepath.Join(c.now.dir, path)
	before, errA := os.Lstat(a)
	after, errB := os.Lstat(b)
	was, is := errA == nil && before.Mode().IsRegular(), errB == nil && after.Mode().IsRegular()
	return was != is || was && is && (before.Size() != after.Size() || !haveSameContent(a, b))
}

// readSide reads a file of one tree, or returns nil if the tree does not have it.
func (c *comparison) readSide(t tree, name string) (*facts.Facts, error) {
	switch size, there := t.files[name]; {
	case !there:
		return nil, nil
	case size == notRegular:
		return nil, errors.New("it is not a regular file, and links are not followed")
	}
	f, err := inputs.ReadFacts(filepath.Join(t.dir, filepath.FromSlash(name)), c.Python, t.dir, nil)
	if err != nil {
		if said := new(usage.Error); errors.As(err, &said) {
			err = errors.New(strings.ReplaceAll(said.Message, t.dir+string(filepath.Separator), ""))
		}
		return nil, err
	}
	return &f, nil
}

// haveSameContent reports whether two files were read completely and are equal.
func haveSameContent(a, b string) bool {
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

// areSameFacts reports whether two reads found the same.
func areSameFacts(a, b *facts.Facts) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := json.Marshal(a.Environments)
	y, errY := json.Marshal(b.Environments)
	return errX == nil && errY == nil && bytes.Equal(x, y) && len(a.Unread) == len(b.Unread)
}

// compareFile says what the change of one file costs.
func (c *comparison) compareFile(ctx context.Context, name, oldName string, before, after *facts.Facts, promised []matrix.Target) requires.FileChange {
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
	s := c.settleSides(ctx, change.State, *before, *after)
	change.Packages = dropStaying(requires.ComparePackages(s.old, s.now), s.before, s.after)
	change.BuildArgs = c.listChangedArgs(name, oldName)
	nameRanges(change.Packages, s.oldRanges, s.newRanges)
	change.OldDriver, change.NewDriver = findKnownDriver(s.old), findKnownDriver(s.now)
	switch change.State {
	case "changed":
		if base := c.findUnknownBase(ctx, s.after); base != "" && len(s.oldRanges)+len(s.newRanges) > 0 {
			change.Packages, change.OldDriver, change.NewDriver = []requires.PackageChange{}, "", ""
			change.Images = matrix.CompareImages(c.Tables, s.before, s.after)
			change.Unknown = append(change.Unknown, requires.Missing{Rule: "not-looked-at", Subject: base, MissingFact: verdict.MissingFact{Missing: requires.BaseMayHold}})
			return change
		}
		if len(s.old.Builds) > 0 { // what asked for nothing had no hosts to lose
			change.Changes = requires.CompareProjects(s.old, s.now).Changes
		}
		change.Targets = matrix.CompareTargets(ctx, c.Tables, s.before, s.after, c.Targets)
		change.Images = matrix.CompareImages(c.Tables, s.before, s.after)
		change.Unknown = append(change.Unknown, listUnknown(s.old, s.now)...)
		change.Parts = c.compareParts(ctx, s)
		change.Unchanged = listUnchangedBuilds(s.old, s.now)
		change.Arm = c.findArmChange(ctx, change)
		change.DefaultGroups = c.listNewDefaultGroups(name, oldName)
		change.Holds = c.findHolds(ctx, change, s)
	case "added":
		change.Targets = matrix.CompareTargets(ctx, c.Tables, s.before, s.after, c.Targets)
		change.Unknown = append(change.Unknown, s.now.Unknown...)
	}
	if d := s.now.Declared; d != nil && (s.old.Declared == nil || *s.old.Declared != *d) {
		change.Declared = d
	}
	if change.State != "removed" {
		change.Supports = c.listNewlyBroken(ctx, s.before, s.after, promised)
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

func (c *comparison) settleSides(ctx context.Context, state string, before, after facts.Facts) sides {
	s := sides{before: before, after: after, old: c.computeRequirement(ctx, before), now: c.computeRequirement(ctx, after)}
	if b, a, shared := dropShared(before, after, s.old, s.now); shared {
		s = sides{before: b, after: a, old: c.computeRequirement(ctx, b), now: c.computeRequirement(ctx, a)}
	}
	if state == "changed" {
		s.before, s.after, s.oldRanges, s.newRanges = c.takeNewest(ctx, s.before, s.after)
		s.old, s.now = c.computeRequirement(ctx, s.before), c.computeRequirement(ctx, s.after)
	}
	return s
}

// findKnownDriver returns the oldest driver that will do; empty where nothing asks, or where that is unknown.
func findKnownDriver(r requires.Requirement) string {
	if len(r.Builds) == 0 || len(r.Unknown) > 0 {
		return ""
	}
	return matrix.OldestDriver(r)
}

// findArmChange returns the package that an older release, which lowers the driver, takes off the GPUs of Arm hosts. It compares
// the package by itself: another one beside it may still have a build for these GPUs.
func (c *comparison) findArmChange(ctx context.Context, change requires.FileChange) *requires.ArmChange {
	for _, p := range change.Packages {
		if p.Old == "" || p.New == "" || p.Old == requires.OpenVersion || p.New == requires.OpenVersion || strings.Contains(p.Name+p.Old+p.New, "/") ||
			strings.Contains(p.Old+p.New, "+") {
			continue
		}
		old, known := c.lookUpRequirement(ctx, p.Name+"=="+p.Old)
		now, also := c.lookUpRequirement(ctx, p.Name+"=="+p.New)
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

// listUnchangedBuilds returns the builds that count and are the same on both sides: "torch 2.8.0+cu128".
func listUnchangedBuilds(old, now requires.Requirement) []string {
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
func (c *comparison) compareParts(ctx context.Context, s sides) []requires.PartChange {
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
		if was && is && areSameFacts(&before, &after) {
			continue
		}
		old, now := c.computeRequirement(ctx, before), c.computeRequirement(ctx, after)
		p := requires.PartChange{Part: path, State: "changed", Packages: requires.ComparePackages(old, now), Changes: []requires.Change{},
			OldDriver: findKnownDriver(old), NewDriver: findKnownDriver(now)}
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

// computeRequirement returns what is needed by what was read, worked out once for files that say the same.
func (c *comparison) computeRequirement(ctx context.Context, f facts.Facts) requires.Requirement {
	key, err := json.Marshal(f)
	if r, known := c.needs[string(key)]; known && err == nil {
		return r
	}
	r := matrix.Requires(ctx, c.Tables, f, c.Python)
	if err == nil && ctx.Err() == nil {
		c.needs[string(key)] = r
	}
	return r
}

// listNewlyBroken returns the parts of the promise that held before the change and no longer do.
func (c *comparison) listNewlyBroken(ctx context.Context, before, after facts.Facts, promised []matrix.Target) []requires.Supported {
	list := []requires.Supported{}
	if len(c.PromisedTargets)+len(c.PromisedPlatforms) == 0 {
		return list
	}
	now := matrix.Supports(ctx, c.Tables, after, promised, c.PromisedPlatforms)
	if !slices.ContainsFunc(now, func(s requires.Supported) bool { return !s.Holds }) {
		return list
	}
	was := matrix.Supports(ctx, c.Tables, before, promised, c.PromisedPlatforms)
	for i, s := range now {
		if !s.Holds && was[i].Holds {
			list = append(list, s)
		}
	}
	return list
}
