package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/terminal"
	"cudacompat/internal/treediff"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
)

// requiresFlags are the flags of requires.
type requiresFlags struct {
	tablesFlag
	lookFlags
	old, driver, python string
	includeRoot         string
	platform            string
	gpus, instances     []string
	formats             []string
	colour              string
	all                 bool
	supports, check     bool
	readme              string // the file of -o markdown=FILE
	config              string
}

func requiresCommand(s streams) *cobra.Command {
	var f requiresFlags
	cmd := &cobra.Command{
		Use: "requires [ARTEFACT|REQUIREMENT...]", Args: argsInTime(oneArtefact),
		Short: "Say which drivers and GPUs a release, a lock file or an environment needs",
		Long:  "Shows what software requires from a host: drivers, GPUs, glibc and Python. ARTEFACT is a file or an image that `check` reads, or the path of a Python environment (as with --env); --root DIR stands for all environments under DIR. REQUIREMENT is a release such as torch==2.9.0. One of these, or --env, is needed. With -o, the answer can be in a form that a scheduler or an installer reads. --diff OLD lists the GPUs and drivers that can run OLD but not ARTEFACT.",
		Example: "  cudacompat requires torch==2.9.0\n  cudacompat requires uv.lock -o cel\n" +
			"  cudacompat requires new.lock --diff old.lock --instance g4dn.xlarge",
		Annotations: map[string]string{exitNote: "0 done · 1 no GPU in the tables meets the needs, what --supports promises is broken, or with --diff a host that --instance, --driver or --gpu names would no longer work; with --check: FILE is stale · 3 inconclusive: some needs are unknown, so no hosts are listed · " + exitOwn},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	f.tablesFlag.add(cmd)
	f.lookFlags.add(cmd)
	includeRootFlag(cmd, &f.includeRoot)
	platformFlag(cmd, &f.platform)
	cmd.Flags().StringVar(&f.old, "diff", "", "compare with the needs of `OLD`: a file, an environment or a release; of two directories, compare each project file that differs")
	cmd.Flags().StringVar(&f.driver, "driver", "", "with --diff: hosts with this driver `VERSION` must still work")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil,
		"consider only the machines with `GPUS`, by name or compute capability, such as L4, 9.0 or 8xL4; with --diff: these must still work")
	cmd.Flags().StringSliceVar(&f.instances, "instance", nil,
		"consider only the instance types in `LIST`, such as g5.xlarge; with --diff: these must still work")
	cmd.Flags().StringVar(&f.python, "python", "", "assume Python `VERSION`")
	cmd.Flags().BoolVar(&f.supports, "supports", false,
		"also compare with what the configuration promises under supports: (driver, gpus, instances, platforms); exit 1 if it is broken")
	cmd.Flags().BoolVar(&f.check, "check", false,
		"with -o markdown=FILE: write nothing, and exit 1 if what is between FILE's marks is stale")
	cmd.Flags().StringVar(&f.config, "config", "",
		"with --supports: read the promise from `FILE` (default $CUDACOMPAT_CONFIG, then ./"+config.Name+", then /etc/cudacompat/"+config.Name+")")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil, outputUsage(output.ListNames(needs.Formats))+
		"; with --diff: "+strings.Join(output.ListNames(needs.DiffFormats), ", "))
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVar(&f.all, "all", false, "also show every GPU and every source")
	return cmd
}

func (f *requiresFlags) run(ctx context.Context, s streams, args []string) error {
	if !inPage && f.old != "" && len(args) == 1 && treediff.IsTree(f.old) && treediff.IsTree(args[0]) {
		return f.runTrees(ctx, s, args[0])
	}
	reading, cancel := deadline.Set(ctx, f.limit())
	defer cancel()
	asked, err := f.question(reading, s, args)
	if err != nil {
		return err
	}
	if f.supports && !inPage {
		if err := f.askPromise(&asked); err != nil {
			return err
		}
	}
	read := func(name string) (probe.Facts, error) { return f.read(ctx, reading, asked, name, s) }
	var r needs.Requires
	found, err := read(asked.artefact)
	if err == nil {
		judging, cancel := deadline.StartJudging(reading)
		defer cancel()
		r, err = deadline.Run(judging, func() (needs.Requires, error) { return f.requires(judging, asked, found, read) })
	}
	if late := new(deadline.Error); errors.As(err, &late) {
		terminal.Complain(s.err, late.Error(), "give more --timeout, or --env for one environment")
		if !asked.outputs.HasJSON() {
			return exitError(exitInconclusive)
		}
		r, err = f.undecided(asked, late), nil
	}
	if err != nil {
		return err
	}
	r.Tool = tool(asked.tables, true)
	if f.readme != "" && !inPage {
		if err := f.updateReadme(reading, s, r); err != nil {
			return err
		}
	}
	err = asked.outputs.Write(reading, r)
	if silence := needs.Silence(""); errors.As(err, &silence) {
		terminal.Complain(s.err, string(silence), "")
		return cmp.Or(requiresExit(r), error(exitError(exitUsage)))
	}
	if err != nil {
		return err
	}
	return requiresExit(r)
}

// requiresAsked is the checked command line of requires.
type requiresAsked struct {
	tables   *matrix.Tables
	targets  []matrix.Target
	artefact string
	outputs  output.Set[needs.Requires]

	promise     config.Promise
	promised    []matrix.Target
	promiseFrom string
}

func (f *requiresFlags) question(reading context.Context, s streams, args []string) (asked requiresAsked, err error) {
	if asked.tables, err = f.load(reading); err != nil {
		return asked, err
	}
	if asked.targets, err = f.targets(asked.tables); err != nil {
		return asked, err
	}
	if asked.artefact, err = f.artefact(args); err != nil {
		return asked, err
	}
	if inputs.NamesStandardInputTwice([]string{asked.artefact, f.old}) {
		return asked, inputs.ErrStandardInputTwice
	}
	formats := requireFormats()
	if f.old != "" {
		formats = requireDiffFormats()
	}
	if f.old == "" {
		f.takeReadme()
	}
	if f.check && f.readme == "" {
		return asked, &usage.Error{Message: "--check compares a file with the answer, and none is named", Hint: "-o markdown=README.md --check"}
	}
	if f.readme != "" && len(f.formats) == 0 { // there is no other output
		_, err = output.ChooseStyle(f.colour, s.out)
		return asked, err
	}
	asked.outputs, err = output.Parse(formats, f.formats, f.colour, f.all, s.out, s.err)
	return asked, err
}

// requires computes the requirement and, with --diff, the changes.
func (f *requiresFlags) requires(ctx context.Context, asked requiresAsked, facts probe.Facts,
	read func(name string) (probe.Facts, error)) (needs.Requires, error) {
	tables, name := asked.tables, asked.artefact
	r := needs.Requires{Source: inputs.LocateSource(cmp.Or(name, "-")), Facts: facts}
	if f.old == "" && len(asked.targets) > 0 {
		r.Requirement = matrix.RequiresOn(ctx, tables, facts, asked.targets)
	} else {
		r.Requirement = matrix.Requires(ctx, tables, facts, f.python)
	}
	r.Artefact = inputs.Label(name)
	if f.supports {
		r.Supports = &requires.Supports{From: asked.promiseFrom,
			Targets: matrix.Supports(ctx, tables, facts, asked.promised, asked.promise.Platforms)}
	}
	if f.old == "" {
		return r, nil
	}
	before, err := read(f.old)
	if err != nil {
		return r, err
	}
	old := matrix.Requires(ctx, tables, before, f.python)
	old.Artefact = f.old
	diff := requires.Compare(old, r.Requirement)
	diff.Targets = matrix.CompareTargets(ctx, tables, before, facts, asked.targets)
	diff.Images = matrix.CompareImages(tables, before, facts)
	r.Diff = &diff
	return r, nil
}

// undecided returns the result for an artefact that was not read, or not judged, in time: nothing is known about it.
func (f *requiresFlags) undecided(asked requiresAsked, why error) needs.Requires {
	nothing := probe.Facts{Unread: []facts.Unread{{Place: inputs.Label(asked.artefact), Reason: why.Error(),
		Kind: facts.UnreadCut}}}
	nothing.Complete()
	ended, end := context.WithCancelCause(context.Background())
	end(why)
	r := needs.Requires{Facts: nothing,
		Requirement: matrix.Requires(ended, asked.tables, nothing, f.python)}
	r.Artefact = inputs.Label(asked.artefact)
	if f.old != "" {
		r.Diff = &requires.Diff{Old: f.old, Changes: []requires.Change{}, Targets: []requires.TargetChange{},
			Images: []requires.ImageChange{}, OldUnknown: []requires.Missing{}}
	}
	return r
}

// requiresExit returns 1 for a lost target, a broken promise, or needs that nothing meets, and 3 if a missing fact
// leaves it open.
func requiresExit(r needs.Requires) error {
	switch {
	case r.Diff != nil && r.Diff.Lost(), r.Supports.Broken():
		return exitError(exitIncompatible)
	case r.Supports.Unknown():
		return exitError(exitInconclusive)
	case r.Diff != nil && r.Diff.Unknown(), len(r.Unknown) > 0:
		return exitError(exitInconclusive)
	case r.Diff != nil && len(r.Diff.Targets) > 0: // all of them are decided
		return nil
	case r.Undecided():
		return exitError(exitInconclusive)
	case r.Diff == nil && r.Unsatisfiable():
		return exitError(exitIncompatible)
	}
	return nil
}

// artefact returns the file to examine, or "" for what --env and --root name.
func (f *requiresFlags) artefact(args []string) (string, error) {
	look := len(f.envs) > 0 || f.root != "" || f.offline
	switch {
	case len(args) > 0 && look:
		return "", &usage.Error{Message: "an artefact is named twice", Hint: "give a file, or --env, or --root"}
	case look && f.includeRoot != "":
		return "", &usage.Error{Message: "--include-root is for the files that a file includes, and no file is given",
			Hint: "give a file, or leave --include-root out"}
	case len(args) == 0 && !look:
		return "", &usage.Error{Message: "requires takes an artefact",
			Hint: "cudacompat requires requirements.txt, or torch==2.9.0, or --env PATH, or --root DIR"}
	case len(args) == 0:
		return "", nil
	}
	return inputs.JoinNames(args), nil
}

// read returns the facts of a file or, without a name, of what the flags name.
func (f *requiresFlags) read(ctx, reading context.Context, asked requiresAsked, name string, s streams) (probe.Facts, error) {
	if inPage {
		return f.readGiven(reading, name, s.in)
	}
	waiting := reading
	if f.timeout == 0 { // an archive's first byte may come late
		bound, cancel := deadline.Set(ctx, deadline.Image)
		defer cancel()
		waiting = bound
	}
	image, in, err := inputs.FindImageInTime(waiting, name, s.in)
	if err != nil {
		return probe.Facts{}, err
	}
	if image != nil {
		opt, err := inputs.ImageOptions(f.platform, asked.tables, asked.targets)
		if err != nil {
			return probe.Facts{}, err
		}
		limit := cmp.Or(f.timeout, deadline.Image)
		reading, cancel := deadline.Set(ctx, limit)
		defer cancel()
		defer image.Close()
		return image.Facts(reading, limit, opt, s.err)
	}
	if err := inputs.RejectPlatform(f.platform, cmp.Or(inputs.Label(name), "a tree")); err != nil && name == asked.artefact {
		return probe.Facts{}, err
	}
	s.in = in
	look := f.lookFlags
	if name, err = deadline.Run(reading, func() (string, error) { return inputs.FindOnlyFile(name) }); err != nil {
		return probe.Facts{}, err
	}
	isDir, err := deadline.Run(reading, func() (bool, error) {
		info, err := os.Stat(name)
		return name != "" && err == nil && info.IsDir(), nil
	})
	switch {
	case err != nil:
		return probe.Facts{}, err
	case isDir:
		look.envs, look.root, look.offline = []string{name}, "", false
	case name != "":
		return f.readGiven(reading, name, s.in)
	}
	if inputs.IsSystem(f.platform) {
		return probe.Facts{}, &usage.Error{Message: "--platform " + f.platform + " is for files, and what is installed is for its own system", Hint: "leave it out"}
	}
	h, err := look.host(reading)
	if err != nil {
		return probe.Facts{}, err
	}
	if f.timeout > 0 {
		ctx = reading
	}
	return look.readMachine(ctx, h, s.err), nil
}

// readGiven returns the facts of a file.
func (f *requiresFlags) readGiven(ctx context.Context, name string, stdin io.Reader) (probe.Facts, error) {
	if f.platform == inputs.WSL {
		return probe.Facts{}, &usage.Error{Message: "--platform wsl is not for requires: WSL2 runs the wheels for Linux on Windows' driver",
			Hint: "--platform linux has the wheels' GPUs, and --platform windows the drivers"}
	}
	given, err := deadline.Run(ctx, func() (probe.Facts, error) { return inputs.ReadFacts(name, f.python, f.includeRoot, stdin) })
	return inputs.ApplyPlatform(f.platform, given), err
}

// targets returns the named hosts.
func (f *requiresFlags) targets(tables *matrix.Tables) ([]matrix.Target, error) {
	base := matrix.Target{Driver: tables.DriverOf(f.driver), Python: f.python}
	if err := inputs.CheckTarget(base, tables); err != nil {
		return nil, err
	}
	if f.driver != "" && f.old == "" {
		return nil, &usage.Error{Message: "--driver means nothing to requires without --diff: the drivers are the answer",
			Hint: "cudacompat check FILE --driver " + f.driver}
	}
	list, err := inputs.ListTargets(tables, base, f.instances, f.gpus)
	for _, target := range list {
		if kinds := slices.Compact(slices.Clone(target.GPUs)); len(kinds) > 1 {
			return nil, &usage.Error{Message: "requires answers for one kind of GPU at a time, not for " + target.Label(),
				Hint: "--gpu " + pin.Word(strings.Join(kinds, ",")) + " asks for each"}
		}
	}
	if err == nil && len(list) == 0 && f.driver != "" {
		list = append(list, base)
	}
	return list, err
}

// readPromise reads what the configuration promises.
func (f *requiresFlags) readPromise() (p config.Promise, from string, err error) {
	judge := judgeFlags{config: f.config}
	judge.given = func(string) bool { return true }
	settings, err := judge.configure()
	switch {
	case err != nil:
		return p, "", err
	case settings.Promise.IsEmpty():
		for _, i := range settings.Source.Ignored {
			return p, "", &usage.Error{Message: "nothing is promised: " + i.File + " is ignored, because " + i.Why, Hint: "name it with --config FILE"}
		}
		return p, "", &usage.Error{Message: "nothing is promised: no configuration has supports:",
			Hint: `write supports: {driver: "525.60.13", gpus: [T4, "8.0"]} into ` + config.Name}
	}
	return settings.Promise, settings.Source.Name, nil
}

// askPromise reads the promise and the machines that it names.
func (f *requiresFlags) askPromise(asked *requiresAsked) (err error) {
	if asked.promise, asked.promiseFrom, err = f.readPromise(); err == nil {
		asked.promised, err = promiseTargets(asked.promise, asked.tables, f.python)
	}
	return err
}

// promiseTargets returns the machines that a promise names. A driver without a GPU means any machine with that driver.
func promiseTargets(p config.Promise, t *matrix.Tables, python string) ([]matrix.Target, error) {
	base := matrix.Target{Driver: t.DriverOf(p.Driver), Python: python}
	if err := inputs.CheckTarget(base, t); err != nil {
		return nil, err
	}
	list, err := inputs.ListTargets(t, base, p.Instances, p.GPUs)
	if err == nil && len(list) == 0 && p.Driver != "" {
		list = append(list, base)
	}
	return list, err
}

// runTrees compares the project files of two directories.
func (f *requiresFlags) runTrees(ctx context.Context, s streams, now string) error {
	outputs, err := output.Parse(needs.TreesFormats, f.formats, f.colour, f.all, s.out, s.err)
	if err != nil {
		return err
	}
	tables, err := f.load(ctx)
	if err != nil {
		return err
	}
	opt := treediff.Options{Tables: tables, Python: f.python}
	if opt.Targets, err = f.targets(tables); err != nil {
		return err
	}
	if f.supports {
		asked := requiresAsked{tables: tables}
		if err := f.askPromise(&asked); err != nil {
			return err
		}
		opt.PromisedBy, opt.PromisedTargets, opt.PromisedPlatforms = asked.promiseFrom, asked.promised, asked.promise.Platforms
	}
	ctx, cancel := deadline.Set(ctx, cmp.Or(f.timeout, deadline.Rest))
	defer cancel()
	trees, err := treediff.Compare(ctx, f.old, now, opt)
	if err != nil {
		return err
	}
	if err := outputs.Write(ctx, needs.Trees{Trees: trees, Tool: tool(tables, true)}); err != nil {
		return err
	}
	switch {
	case trees.Broken():
		return exitError(exitIncompatible)
	case trees.Undecided():
		return exitError(exitInconclusive)
	}
	return nil
}
