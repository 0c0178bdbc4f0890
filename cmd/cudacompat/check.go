package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cudacompat/probe"

	"github.com/spf13/cobra"
)

func checkCommand(s streams) *cobra.Command {
	var judge judgeFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "check FILE",
		Short:   "Judge facts taken elsewhere: facts or report JSON, a collect_env report, a requirements file, a lock; - is stdin",
		Example: "  cudacompat check example:broken\n  python3 -m torch.utils.collect_env | cudacompat check -",
		Args:    oneFile,
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
	cmd.Flags().DurationVar(&timeout, "timeout", checkTimeout, "bound everything: reading, judging")
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
	if err == nil && len(data) > givenCap {
		err = fmt.Errorf("it is larger than %d MiB, which no report and no lock is", givenCap>>20)
	}
	if err != nil {
		return probe.Facts{}, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	facts, err := probe.Given(data)
	if err != nil {
		return facts, &usageError{message: fmt.Sprintf("%q: %v", name, err), hint: "give the JSON that `cudacompat probe` or `doctor -o json` writes, or a collect_env report"}
	}
	return facts, nil
}

const givenHint = "give a file with facts, a report or a pasted collect_env report, or - for standard input"

// opened is the file of that name, standard input for -, or what the program carries for example:NAME.
func opened(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	if example, ok := strings.CutPrefix(name, examplePrefix); ok {
		return openExample(example)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	return f, nil
}
