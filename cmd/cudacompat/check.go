package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/judge"
	"cudacompat/internal/report"
	"cudacompat/internal/usage"

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
	opt, err := inputs.ImageOptions(f.platform, job.Tables, job.Targets)
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
	job.Platform = f.platform
	for i := range machines {
		machines[i].Facts = inputs.ApplyPlatform(f.platform, machines[i].Facts)
		job.RemarkOverridden(inputs.Label(cmp.Or(machines[i].Name, inputs.JoinNames(args))), machines[i].Facts)
		if f.platform == "" {
			machines[i].Facts = inputs.AssumeWindows(job.Tables, machines[i].Facts, job.Targets, s.err)
		}
	}
	from := ""
	if len(args) == 1 {
		from, _ = deadline.Run(ctx, func() (string, error) { return inputs.LocateSource(args[0]), nil })
	}
	return f.check(ctx, job, machines, from, s)
}

// check judges each machine that the documents describe and writes one report. from is the file, if there is one.
func (f *judgeFlags) check(ctx context.Context, job job, machines []inputs.Description, from string, s streams) error {
	var reports []report.Report
	for _, m := range machines {
		r, err := job.JudgeDescription(ctx, m)
		if err != nil {
			return err
		}
		r.Configuration = job.describeEffect(r.Verdict)
		reports = append(reports, r)
	}
	r := reports[0]
	if len(reports) > 1 {
		r = judge.JoinReports(machines, reports)
		r.Configuration = job.describeEffect(r.Verdict)
	}
	r.Source = from
	if err := job.outputs.Write(ctx, r); err != nil {
		return err
	}
	job.remarkUnmatched(s.err, r.Verdict)
	return exitFor(r.Verdict, f.failOn, job.outputs)
}
