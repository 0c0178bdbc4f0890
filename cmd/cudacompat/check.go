package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cudacompat/probe"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

// readable are the kinds of files that are read, by what they are for.
const readable = `  locks     uv.lock, pylock.toml, poetry.lock, Pipfile.lock, pixi.lock
  projects  requirements, pyproject.toml, environment.yml, Dockerfile
  lists     pip list, pip freeze, conda list (also as JSON or --explicit)
  reports   collect_env, nvidia-smi (also -q, -x -q, -L, or its error message),
            facts or a report from cudacompat
`

func checkCommand(s streams) *cobra.Command {
	var judge judgeFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a file: a report, a lock file, requirements, nvidia-smi's output",
		Long: "Judges a file that was written elsewhere (- is standard input). It reads, in UTF-8 or UTF-16:\n\n" +
			readable + "\n" +
			"Nothing is installed or run: packages are judged by what their releases are built for. Name the machine that " +
			"the file is meant for with --driver and --gpu, or with --instance.",
		Example: "  cudacompat check example:broken\n" +
			"  python3 -m torch.utils.collect_env | cudacompat check -\n" +
			"  cudacompat check uv.lock --instance g5.xlarge --driver " + report.ExampleDriver,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			job, err := judge.prepare(ctx, s)
			if err != nil {
				return err
			}
			r, err := job.judge(ctx, func() (probe.Facts, error) { return givenInTime(ctx, args[0], s.in) })
			if err != nil {
				return err
			}
			r.Source = source(args[0])
			if err := job.outputs.write(r); err != nil {
				return err
			}
			job.config.remark(s.err, r.Verdict)
			return exitFor(r.Verdict, judge.failOn, job.outputs)
		},
	}
	judge.add(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", checkTimeout,
		"stop after this `TIME` with a partial, inconclusive report")
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{message: fmt.Sprintf("%s takes one file, not %d", cmd.Name(), len(args)),
		hint: "cudacompat " + cmd.Name() + " FILE, or - for standard input"}
}

// source is the file as seen from the working directory, in a workflow the repository; empty for what is no file, and
// for facts, whose lines are those of another file.
func source(name string) string {
	if name == "-" || strings.HasPrefix(name, examplePrefix) || filepath.Ext(name) == ".json" {
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
func givenInTime(ctx context.Context, name string, stdin io.Reader) (probe.Facts, error) {
	facts, err := inTime(ctx, func() (probe.Facts, error) { return given(name, stdin) })
	err = piped(err, "check", name)
	if late := new(lateError); errors.As(err, &late) {
		return probe.Facts{Unread: []probe.Unread{{Place: name, Reason: late.Error(), Kind: probe.UnreadCut}}}, nil
	}
	return facts, err
}

// givenCap bounds a file of facts; a report of a node with dozens of environments is below 1 MB.
const givenCap = 8 << 20

func given(name string, stdin io.Reader) (probe.Facts, error) {
	in, err := opened(name, stdin)
	if err != nil {
		return probe.Facts{}, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, givenCap+1))
	if err != nil {
		return probe.Facts{}, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	facts, err := probe.GivenFile(documentOf(name, data))
	switch {
	case errors.Is(err, probe.ErrArchive):
		return facts, &usageError{fmt.Sprintf("%q: %v", name, err), archiveHint}
	case len(data) > givenCap:
		return facts, &usageError{fmt.Sprintf("cannot read %q: it is larger than %d MiB, which no report and no lock is",
			name, givenCap>>20), givenHint}
	case err != nil:
		return facts, &usageError{fmt.Sprintf("%q: %v", name, err), givenHint}
	}
	return facts, nil
}

// documentOf is what was read under a name; a file's includes are looked for beside it.
func documentOf(name string, data []byte) probe.Document {
	d := probe.Document{Data: data[:min(len(data), givenCap)]}
	if name != "-" && !strings.HasPrefix(name, examplePrefix) {
		d.Name = name
		d.Beside = func(other string) ([]byte, error) {
			if !filepath.IsAbs(other) {
				other = filepath.Join(filepath.Dir(name), other)
			}
			return included(other)
		}
	}
	return d
}

// included reads a file that another one names. Only a regular file is opened: anything else may never end.
func included(name string) ([]byte, error) {
	switch info, err := os.Stat(name); {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, givenCap))
}

const (
	givenHint = "give a collect_env report, nvidia-smi's output, requirements, a lock, the output of pip list or conda " +
		"list, a pyproject.toml, an environment.yml, a Dockerfile, or what cudacompat wrote; - is standard input"
	absentHint  = "check the path, or give - for standard input"
	archiveHint = "unpack it and look at the tree: docker load -i FILE; docker create --name c IMAGE; docker export c " +
		"| tar -x -C DIR; cudacompat doctor --root DIR --driver VERSION --gpu NAME"
)

// piped says how a requirement is given in place of a file, where somebody gave one as the name of a file.
func piped(err error, command, name string) error {
	var usage *usageError
	if !errors.As(err, &usage) || usage.hint != absentHint || !strings.Contains(name, "==") {
		return err
	}
	return &usageError{usage.message, fmt.Sprintf("pipe a requirement: echo %s | cudacompat %s -", name, command)}
}

// opened is the file of that name, standard input for -, or what the program carries for example:NAME.
func opened(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	if example, ok := strings.CutPrefix(name, examplePrefix); ok {
		return openExample(example)
	}
	f, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), absentHint}
	case err != nil:
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	return f, nil
}
