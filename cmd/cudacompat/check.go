package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/report"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
)

// readable lists the kinds of files that check reads, by purpose.
const readable = `  locks     uv.lock, pylock.toml, poetry.lock, Pipfile.lock, pixi.lock,
            conda-lock.yml
  projects  requirements.txt, pyproject.toml, environment.yml, Dockerfile
  plans     what uv, pip, conda and poetry print with --dry-run, pip's --report,
            uv pip compile
  lists     pip list, pip freeze, conda list (also as JSON or --explicit)
  reports   collect_env (PyTorch, vLLM, SGLang, Lightning, xFormers, JAX),
            nvidia-smi (also -q, -x -q, -L, --version, topo, dmon, or its error
            message), the JSON of cudacompat probe, or of doctor -o json
  project   a directory: each of its locks, requirements, Dockerfiles and
            compose files
  images    the directory of an OCI layout; an archive of docker save, podman
            save or skopeo copy; the name of one that the tables know, such as
            pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime
`

// checkFlags are the flags of check.
type checkFlags struct {
	judgeFlags
	limit                      time.Duration
	includeRoot, env, platform string
}

func checkCommand(s streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE|IMAGE...|REQUIREMENT...",
		Short: "Check a framework release, a requirements or lock file, a report, or nvidia-smi's output",
		Long: "Judges releases such as torch==2.9.0, or a file (- is standard input), without examining this machine. These files are understood, in UTF-8 or UTF-16:\n\n" + readable + "\n" +
			"An image is read, and not unpacked. Nothing is installed or run: each package is judged by the CUDA version and the GPU architectures that its release was built for. Describe the target machine with --driver and either --gpu or --instance; a report already describes its own. With --env, what an installer's dry run says is judged as the environment that it would leave behind, on this machine unless flags name another. example:broken is a built-in example; example:? lists all.",
		Example: "  cudacompat check torch==2.9.0 --gpu L4 --driver 535.183.01\n" +
			"  python3 -m torch.utils.collect_env | cudacompat check -\n" +
			"  cudacompat check uv.lock --instance g5.xlarge --driver " + report.ExampleDriver + "\n" +
			"  uv pip install --dry-run vllm 2>&1 | cudacompat check - --env .venv\n" +
			"  docker save IMAGE | cudacompat check - --instance g5.xlarge --driver " + report.ExampleDriver,
		Args: argsInTime(filesOrReleases),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.Flags().Changed("timeout"), s)
		},
	}
	f.add(cmd)
	includeRootFlag(cmd, &f.includeRoot)
	platformFlag(cmd, &f.platform)
	cmd.Flags().StringVar(&f.env, "env", "",
		"judge the Python environment at `PATH` (active: the one that python3 starts here) as the plan in FILE would leave it")
	cmd.Flags().DurationVar(&f.limit, "timeout", deadline.Check,
		"stop after `TIME` and judge what was read by then (an image: 600s unless given)")
	return cmd
}

// run judges images or documents. The first bytes of standard input decide which one it is, and they may never come, so
// this is bounded, too.
func (f *checkFlags) run(ctx context.Context, args []string, bounded bool, s streams) error {
	if slices.Equal(args, []string{inputs.ExampleList}) {
		for _, name := range inputs.ExampleNames() {
			fmt.Fprintln(s.out, inputs.ExamplePrefix+name)
		}
		return nil
	}
	if inputs.NamesStandardInputTwice(args) {
		return inputs.ErrStandardInputTwice
	}
	limit := deadline.Image
	if bounded {
		limit = f.limit
	}
	waiting, cancel := deadline.Set(ctx, limit)
	defer cancel()
	type input struct {
		images []*inputs.Image
		in     io.Reader
	}
	found, err := deadline.Run(waiting, func() (input, error) {
		images, in, err := inputs.FindImages(args, s.in)
		if err == nil && len(images) == 0 {
			var image *inputs.Image
			if image, in = inputs.FindImage(inputs.JoinNames(args), in); image != nil {
				images = []*inputs.Image{image}
			}
		}
		return input{images, in}, err
	})
	if late := new(deadline.Error); errors.As(err, &late) {
		return f.checkUnread(ctx, args, late, s)
	}
	if err != nil {
		return err
	}
	if bounded {
		ctx = waiting
	}
	s.in = found.in
	if len(found.images) == 0 {
		return f.checkDocuments(ctx, args, s)
	}
	if len(found.images) == 1 { // each of several is closed where it was read
		defer found.images[0].Close()
	}
	f.limit = limit
	return f.checkImages(ctx, found.images, s)
}

// checkUnread reports that nothing was read in time.
func (f *checkFlags) checkUnread(ctx context.Context, args []string, late *deadline.Error, s streams) error {
	ctx, cancel := deadline.Set(ctx, unreadTimeout)
	defer cancel()
	job, err := f.prepare(ctx, s)
	if err != nil {
		return err
	}
	return f.check(ctx, job, []inputs.Description{inputs.DescribeUnread(args, late)}, "", s)
}

// unreadTimeout is the time for reporting that nothing was read, after the deadline.
const unreadTimeout = 2 * time.Second

// checkImages judges what is in images.
func (f *checkFlags) checkImages(ctx context.Context, images []*inputs.Image, s streams) error {
	if f.env != "" || f.includeRoot != "" {
		return &usage.Error{Message: "--env and --include-root mean nothing to an image", Hint: "leave them out"}
	}
	if len(images) > 1 {
		return f.judgeImages(ctx, images, f.platform, f.limit, s)
	}
	ctx, cancel := deadline.Set(ctx, f.limit)
	defer cancel()
	job, err := f.prepare(ctx, s)
	if err != nil {
		return err
	}
	opt, err := inputs.ImageOptions(f.platform, job.tables, job.targets)
	if err != nil {
		return err
	}
	found, err := images[0].Facts(ctx, f.limit, opt, s.err)
	if err != nil {
		return err
	}
	if f.platform == inputs.WSL {
		found = inputs.ApplyPlatform(inputs.WSL, found)
	}
	return f.check(ctx, job, []inputs.Description{{Facts: found}}, "", s)
}

// checkDocuments judges the machines that files and releases describe.
func (f *checkFlags) checkDocuments(ctx context.Context, args []string, s streams) error {
	if err := inputs.RejectPlatform(f.platform, inputs.Label(inputs.JoinNames(args))); err != nil {
		return err
	}
	ctx, cancel := deadline.Set(ctx, f.limit)
	defer cancel()
	job, err := f.prepare(ctx, s)
	if err != nil {
		return err
	}
	machines, err := inputs.ReadInTime(ctx, args, f.python, f.includeRoot, s.in)
	if err == nil && f.env != "" {
		err = machines[0].Foreign
	}
	if err == nil && f.env != "" {
		machines[0].Facts, err = factsAfterPlan(ctx, machines[0].Facts, f.env, inputs.JoinNames(args), f.limit)
	}
	if err != nil {
		return err
	}
	job.platform = f.platform
	for i := range machines {
		machines[i].Facts = inputs.ApplyPlatform(f.platform, machines[i].Facts)
		remarkOverridden(s.err, job, inputs.Label(cmp.Or(machines[i].Name, inputs.JoinNames(args))), machines[i].Facts)
		if f.platform == "" {
			machines[i].Facts = inputs.AssumeWindows(job.tables, machines[i].Facts, job.targets, s.err)
		}
	}
	from := ""
	if len(args) == 1 {
		from, _ = deadline.Run(ctx, func() (string, error) { return source(args[0]), nil })
	}
	return f.check(ctx, job, machines, from, s)
}

// remarkOverridden says on stderr which of a file's own words flags replace: its GPUs, its driver.
func remarkOverridden(w io.Writer, job job, name string, f probe.Facts) {
	if name == "-" {
		name = "standard input"
	}
	replaced := func(flag, own string, by func(matrix.Target) bool) {
		if own != "" && slices.ContainsFunc(job.targets, by) {
			terminal.Complain(w, fmt.Sprintf("%s replaces what %s says: %s", flag, name, own), "leave "+flag+" out to judge the machine of the file")
		}
	}
	replaced("--gpu", gpusOf(f), func(t matrix.Target) bool { return len(t.GPUs) > 0 && !namesChipsOf(job.tables, t.GPUs, f) })
	replaced("--instance", gpusOf(f), func(t matrix.Target) bool {
		row := job.tables.Instance(t.Instance)
		return len(t.GPUs) == 0 && row != nil && !namesChipsOf(job.tables, []string{row.GPU}, f)
	})
	if f.Driver.Version != "" {
		replaced("--driver", "driver "+f.Driver.Version, func(t matrix.Target) bool { return t.Driver != "" && t.Driver != f.Driver.Version })
	}
}

// gpusOf names the GPUs of a machine, each once.
func gpusOf(f probe.Facts) string {
	var names []string
	for _, g := range f.GPUs {
		if g.Name != "" && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// namesChipsOf reports whether the words of --gpu name the chips of a machine's own GPUs.
func namesChipsOf(t *matrix.Tables, words []string, f probe.Facts) bool {
	return !slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool {
		chip := t.ChipNamed(g.Name)
		return chip == nil || !slices.ContainsFunc(words, func(word string) bool { return t.ChipNamed(word) == chip })
	})
}

// source returns the file as seen from the working directory, in a workflow the repository; empty for what is no file,
// and for facts, whose lines are those of another file.
func source(name string) string {
	if !inputs.IsFile(name) || filepath.Ext(name) == ".json" {
		return ""
	}
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if relative, err := filepath.Rel(here, name); err == nil {
			name = relative
		}
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// check judges each machine that the documents describe and writes one report. from is the file, if there is one.
func (f *judgeFlags) check(ctx context.Context, job job, machines []inputs.Description, from string, s streams) error {
	var reports []report.Report
	for _, m := range machines {
		r, err := f.judgeOne(ctx, job, m)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	r := reports[0]
	if len(reports) > 1 {
		r = joinReports(machines, reports)
		r.Configuration = job.describeEffect(r.Verdict)
	}
	r.Source = from
	if err := job.outputs.Write(ctx, r); err != nil {
		return err
	}
	job.remarkUnmatched(s.err, r.Verdict)
	return exitFor(r.Verdict, f.failOn, job.outputs)
}

// judgeOne judges one machine together with the error that was pasted with it. An error that happened is a fact: if its
// cause is certain and a rule knows it, that rule reports it, as explain would. Otherwise a machine whose versions all
// fit is still not compatible, because nothing that was compared explains the error.
func (f *judgeFlags) judgeOne(ctx context.Context, job job, m inputs.Description) (report.Report, error) {
	found := func() (probe.Facts, error) { return m.Facts, nil }
	left, err := f.logOf(ctx, &job, m)
	if left && len(m.Facts.Environments) == 0 { // there is nothing else to judge
		m.Facts.Unread = append(slices.Clone(m.Facts.Unread), facts.Unread{Place: "the error in the text", Kind: facts.UnreadNeeded,
			Reason: "it comes from another machine than the one that the flags name"})
	}
	if err == nil && job.log == nil {
		err = m.Foreign
	}
	if err == nil && (m.Foreign == nil || len(m.Unknown) > 1) {
		err = f.refuseUnknown(ctx, m.Unknown)
	}
	if err != nil {
		return report.Report{}, err
	}
	if job.log != nil && atFault(job.log.Blame) {
		m.Facts.Observed.Named = "" // the error says more of it than that its release is not known
		m.Facts.Observed.Stated = stated(job.log, &m.Facts)
	}
	r, err := job.judge(ctx, found)
	if err != nil || r.Log == nil || r.Outcome != verdict.Compatible || !atFault(r.Log.Blame) {
		return r, err
	}
	m.Facts.Unread = append(slices.Clone(m.Facts.Unread), facts.Unread{Place: "the error that was pasted", Kind: facts.UnreadNeeded,
		Reason: "nothing that was compared explains it: " + strings.TrimSuffix(r.Log.Because, ".")})
	return job.judge(ctx, found)
}

// amdGPU matches the name of a GPU that no rule covers.
var amdGPU = lazyregexp.New(`(?i)\bRadeon\b|\bInstinct\b`)

// stated returns the error in a log as a fact, or nil if its cause is not certain or no rule knows it. A line that
// healthy programs also print is no error, except that a CPU build is one beside a GPU.
func stated(d *logs.Diagnosis, f *facts.Facts) *facts.Stated {
	known := d.Rule != "" && d.Rule != "none" && len(d.Lines) > 0 &&
		!slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool { return amdGPU.MatchString(g.Name) })
	if !known || d.Confidence != logs.Certain || !d.Failed() && (d.Rule != "cpu-only-build" || len(f.GPUs) == 0) {
		return nil
	}
	return &facts.Stated{Rule: d.Rule, Cause: d.Because, Line: d.Lines[0].Number, Text: d.Lines[0].Text, Do: d.Do}
}

func atFault(b logs.Blame) bool { return b == logs.Environment || b == logs.Hardware }

// logOf returns what the text of a machine shows beside what it describes. Flags that name another machine leave it out,
// which is said.
func (f *judgeFlags) logOf(ctx context.Context, job *job, m inputs.Description) (left bool, err error) {
	job.log = nil
	if !m.Pasted {
		return false, nil
	}
	all, err := f.signatures(f.tables)
	if err != nil {
		return false, err
	}
	d, err := logs.Read(ctx, all, []logs.Source{{Name: "-", Reader: bytes.NewReader(m.Text)}})
	if err != nil || d.Cause == logs.NothingFound || d.Blame == logs.None {
		return false, nil
	}
	if slices.ContainsFunc(job.targets, func(t matrix.Target) bool {
		return t.OtherThan(job.tables, &m.Facts) || t.Driver != "" && d.Rule == "driver-missing"
	}) {
		terminal.Complain(job.remarks, "the error in the text is left out: --driver, --gpu or --instance names another machine than the text",
			"leave the flag out, or explain the error by itself: cudacompat explain FILE")
		return true, nil
	}
	job.log = &d
	return false, nil
}

// refuseUnknown returns an error that names the first text in which nothing was recognised. Other files do not make up
// for it.
func (f *judgeFlags) refuseUnknown(ctx context.Context, texts []inputs.UnknownText) error {
	if len(texts) == 0 {
		return nil
	}
	all, err := f.signatures(f.tables)
	if err != nil {
		return err
	}
	for _, t := range texts {
		d, err := logs.Read(ctx, all, []logs.Source{{Name: "-", Reader: bytes.NewReader(t.Text)}})
		switch {
		case err != nil:
			return err
		case d.Cause == logs.NothingFound:
			return t.Err
		}
	}
	return nil
}
