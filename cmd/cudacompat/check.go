package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"cudacompat/probe"
	"cudacompat/probe/facts"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

// readable are the kinds of files that are read, by what they are for.
const readable = `  locks     uv.lock, pylock.toml, poetry.lock, Pipfile.lock, pixi.lock,
            conda-lock.yml
  projects  requirements.txt, pyproject.toml, environment.yml, Dockerfile
  plans     what uv, pip, conda and poetry print with --dry-run, pip's --report,
            uv pip compile
  lists     pip list, pip freeze, conda list (also as JSON or --explicit)
  reports   collect_env, nvidia-smi (also -q, -x -q, -L, or its error message),
            the JSON of cudacompat probe, or of doctor -o json
  images    the directory of an OCI layout; an archive of docker save, podman
            save or skopeo copy
`

func checkCommand(s streams) *cobra.Command {
	var judge judgeFlags
	var timeout time.Duration
	var includeRoot, env string
	cmd := &cobra.Command{
		Use:   "check FILE|IMAGE...|REQUIREMENT...",
		Short: "Check a framework release, a requirements or lock file, a report, or nvidia-smi's output",
		Long: "Judges releases such as torch==2.9.0, or a file (- is standard input), without examining this machine. These files are understood, in UTF-8 or UTF-16:\n\n" + readable + "\n" +
			"An image is read, and not unpacked. Nothing is installed or run: each package is judged by the CUDA version and the GPU architectures that its release was built for. Describe the target machine with --driver and either --gpu or --instance; a report already describes its own. With --env, what an installer's dry run says is judged as the environment that it would leave behind, on this machine unless flags name another. example:broken is a built-in example; an unknown name, such as example:?, lists all.",
		Example: "  cudacompat check torch==2.9.0 --gpu L4 --driver 535.183.01\n" +
			"  python3 -m torch.utils.collect_env | cudacompat check -\n" +
			"  cudacompat check uv.lock --instance g5.xlarge --driver " + report.ExampleDriver + "\n" +
			"  uv pip install --dry-run vllm 2>&1 | cudacompat check - --env .venv\n" +
			"  docker save IMAGE | cudacompat check - --instance g5.xlarge --driver " + report.ExampleDriver,
		Args: oneFileOrImages,
		RunE: func(cmd *cobra.Command, args []string) error {
			if images := imagesNamed(args); images != nil {
				if env != "" || includeRoot != "" {
					return &usageError{"--env and --include-root mean nothing to an image", "leave them out"}
				}
				if !cmd.Flags().Changed("timeout") {
					timeout = restTimeout
				}
				return judge.judgeImages(cmd.Context(), images, timeout, s)
			}
			image, in := imageNamed(asked(args), s.in)
			if image != nil {
				defer image.done()
				if !cmd.Flags().Changed("timeout") {
					timeout = restTimeout
				}
				if env != "" || includeRoot != "" {
					return &usageError{"--env and --include-root mean nothing to an image", "leave them out"}
				}
			}
			s.in = in
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			job, err := judge.prepare(ctx, s)
			if err != nil {
				return err
			}
			r, err := job.judge(ctx, func() (probe.Facts, error) {
				if image != nil {
					return image.facts(ctx, timeout, s.err)
				}
				facts, err := givenInTime(ctx, asked(args), judge.python, includeRoot, s.in)
				if err != nil || env == "" {
					return facts, err
				}
				return afterwards(ctx, facts, env, asked(args))
			})
			if err != nil {
				return err
			}
			if image == nil {
				r.Source = source(asked(args))
			}
			if err := job.outputs.write(r); err != nil {
				return err
			}
			job.config.remark(s.err, r.Verdict)
			return exitFor(r.Verdict, judge.failOn, job.outputs)
		},
	}
	judge.add(cmd)
	includeRootFlag(cmd, &includeRoot)
	cmd.Flags().StringVar(&env, "env", "",
		"judge the Python environment at `PATH` (active: the one that python3 starts here) as the plan in FILE would leave it")
	cmd.Flags().DurationVar(&timeout, "timeout", checkTimeout,
		"stop after `TIME` and judge what was read by then (an image: 120s unless given)")
	return cmd
}

// source is the file as seen from the working directory, in a workflow the repository; empty for what is no file, and
// for facts, whose lines are those of another file.
func source(name string) string {
	if !isFile(name) || filepath.Ext(name) == ".json" {
		return ""
	}
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if relative, err := filepath.Rel(here, name); err == nil {
			name = relative
		}
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// givenInTime reads a file of facts. One that does not come in time was not looked at, which leaves the outcome open.
func givenInTime(ctx context.Context, name, python, includeRoot string, stdin io.Reader) (probe.Facts, error) {
	read, err := inTime(ctx, func() (probe.Facts, error) { return given(name, python, includeRoot, stdin) })
	if late := new(lateError); errors.As(err, &late) {
		return probe.Facts{Unread: []facts.Unread{{Place: name, Reason: late.Error(), Kind: facts.UnreadCut}}}, nil
	}
	return read, err
}
