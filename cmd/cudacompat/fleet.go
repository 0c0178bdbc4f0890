package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/fleet"
	"cudacompat/internal/fleet/document"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/nodes"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"

	"github.com/spf13/cobra"
)

// fleetFlags are the flags of fleet.
type fleetFlags struct {
	tablesFlag
	whatIf  []string
	expect  string
	maxAge  time.Duration
	timeout time.Duration
	failOn  string
	formats []string
	colour  string
	all     bool
}

// staleAge is how much older than the newest document another may be, unless --max-age overrides it.
const staleAge = 24 * time.Hour

func fleetCommand(s streams) *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "fleet FILE...|DIR...|-",
		Short: "Check many nodes: what fails, where they differ, what a change would break",
		Long: "Judges the facts or reports of many nodes in one pass. A file holds one JSON document, or one on each line, and may be compressed with gzip; in a directory, files that end in .json, .jsonl or .ndjson are read, with or without .gz.\n\n" +
			"A document is the output of `cudacompat probe` (facts) or of `cudacompat doctor -o json` (a report). It can be part of an object that names the node, its group (nodes that should be alike) and when it was taken:\n" +
			`  {"node":"n1","group":"trainers","taken":"2026-11-22T10:00:00Z","facts":{...}}`,
		Annotations: map[string]string{exitNote: "0 every node is compatible · 1 a node is incompatible · 3 no node is incompatible, but one is inconclusive or missing, or a document is damaged · " + exitOwn},
		Example: "  cudacompat fleet facts/\n  cudacompat fleet nodes.jsonl.gz --what-if driver=595.71.05\n" +
			"  cudacompat fleet nodes.jsonl --what-if torch==2.14.1+cu130 -o csv=broken.csv\n" +
			"  kubectl get nodes > nodes.txt && cudacompat fleet facts/ --inventory nodes.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usage.Error{Message: "fleet takes files or directories",
					Hint: "cudacompat fleet DIR, or - for standard input"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	f.tablesFlag.add(cmd)
	cmd.Flags().StringArrayVar(&f.whatIf, "what-if", nil,
		"`CHANGE`: assume this change on every node: driver=VERSION, or a package such as torch==2.9.0 (may be repeated)")
	cmd.Flags().StringVar(&f.expect, "inventory", "",
		"also list nodes that `FILE` names and that no document is of: one name a line, or what kubectl get nodes (-o json too) or sinfo prints")
	cmd.Flags().DurationVar(&f.maxAge, "max-age", staleAge,
		"call a node stale if its document is more than `TIME` older than the newest one")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after `TIME` (default: no limit)")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "exit 1 if a finding has `SEVERITY` or a higher one: error, warning or never")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil,
		outputUsage(output.ListNames(nodes.Formats)))
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVar(&f.all, "all", false, "name every node")
	return cmd
}

func (f *fleetFlags) run(ctx context.Context, s streams, args []string) error {
	if f.timeout > 0 {
		bound, cancel := deadline.Set(ctx, f.timeout)
		defer cancel()
		ctx = bound
	}
	if !slices.Contains(config.FailOnValues, f.failOn) {
		return usage.RejectUnknown("severity for --fail-on", f.failOn, config.FailOnValues)
	}
	if inputs.NamesStandardInputTwice(append(slices.Clone(args), f.expect)) {
		return inputs.ErrStandardInputTwice
	}
	outputs, err := output.Parse(fleetFormats(), f.formats, f.colour, f.all, s.out, s.err)
	if err != nil {
		return err
	}
	tables, err := f.load(ctx)
	if err != nil {
		return err
	}
	asked, err := f.whatIfs(tables)
	if err != nil {
		return err
	}
	var expected []string
	if f.expect != "" {
		expected, err = deadline.Run(ctx, func() ([]string, error) { return document.ReadInventory(f.expect) })
		if late := new(deadline.Error); errors.As(err, &late) {
			return &deadline.Error{Err: fmt.Errorf("cannot read the inventory %q: %w", f.expect, late), Hint: "let something write it, or give more --timeout"}
		}
		if err != nil {
			return err
		}
	}
	judge := fleet.NewJudge(tables, verdict.Policy{Today: time.Now().Format(time.DateOnly), Site: site}, asked)
	judge.Expect(expected)
	found, err := f.judge(ctx, s, args, judge)
	if late := new(deadline.Error); errors.As(err, &late) { // a file that never ends: what was read before it is left behind
		terminal.Complain(s.err, late.Error(), "give more --timeout, or fewer documents")
		nothing := fleet.NewJudge(tables, verdict.Policy{}, asked)
		nothing.Refuse(strings.Join(args, " "), "", late.Error())
		found, err = nothing.Summary(fleet.StaleAfter(f.maxAge, time.Now())), nil
	}
	if err != nil {
		return err
	}
	if err := outputs.Write(ctx, nodes.Fleet{Summary: found, Tool: tool(tables, true)}); err != nil {
		return err
	}
	return f.exit(found)
}

// judge reads documents until they or the time end, and reports what was found by then.
func (f *fleetFlags) judge(ctx context.Context, s streams, args []string, judge *fleet.Judge) (fleet.Summary, error) {
	reading := ctx
	if f.timeout > 0 {
		bound, cancel := deadline.Set(ctx, f.timeout-f.timeout/summaryShare)
		defer cancel()
		reading = bound
	}
	return deadline.Run(ctx, func() (fleet.Summary, error) {
		reader := document.NewReader(reading, judge, s.in)
		for _, name := range args {
			if err := reader.Read(name); err != nil && reading.Err() == nil {
				return fleet.Summary{}, err
			}
			if reading.Err() != nil {
				judge.Refuse(name, "", fmt.Sprintf("it was not read to its end: the time was up (--timeout %s)", f.timeout))
				break
			}
		}
		return judge.Summary(fleet.StaleAfter(f.maxAge, time.Now())), nil
	})
}

// summaryShare is the divisor for the part of the time reserved for the summary: one tenth.
const summaryShare = 10

// exit returns the exit code of the worst node. It is 3 if a document could not be read, a node is missing, or there
// was none.
func (f *fleetFlags) exit(s fleet.Summary) error {
	found := func(k fleet.Kind) bool { return len(k.Findings) > 0 }
	warned := len(s.Drift) > 0 || slices.ContainsFunc(s.Kinds, found)
	switch {
	case s.Outcome == verdict.Incompatible && f.failOn != "never", warned && f.failOn == "warning":
		return exitError(exitIncompatible)
	case s.Outcome == verdict.Inconclusive, len(s.Unread)+len(s.Missing) > 0, s.Nodes == 0:
		return exitError(exitInconclusive)
	}
	return nil
}

// whatIfs parses every --what-if.
func (f *fleetFlags) whatIfs(t *matrix.Tables) ([]fleet.WhatIf, error) {
	var list []fleet.WhatIf
	for _, text := range f.whatIf {
		w, err := fleet.ParseWhatIf(t, text)
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}
