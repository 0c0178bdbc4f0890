package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/report"
	"cudacompat/triage"

	"github.com/spf13/cobra"
)

// doctorFlags are doctor's own, beside those of looking and judging.
type doctorFlags struct {
	lookFlags
	judgeFlags
	wait        time.Duration
	healthcheck bool
	log         string
}

func doctorCommand(s streams) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Probe this machine, check what was found, report: the main job", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.doctor(cmd.Context(), s) },
	}
	cmd.SetContext(context.Background())
	f.lookFlags.add(cmd)
	f.judgeFlags.add(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "try again until what is required is there and nothing is inconclusive (first boot)")
	cmd.Flags().BoolVar(&f.healthcheck, "healthcheck", false, "one line, exit 0 or 1 only; inconclusive is 0 unless --require")
	cmd.Flags().StringVar(&f.log, "log", "", "judge a log (`FILE`, - for stdin) together with the machine")
	return cmd
}

// healthTimeout is half of what Docker gives a health check before it kills it (30 s), so that there is a line to read.
const healthTimeout = 15 * time.Second

func (f *doctorFlags) doctor(ctx context.Context, s streams) error {
	var err error
	if f.tables, err = f.load(); err != nil {
		return err
	}
	h, err := f.host()
	if err != nil {
		return err
	}
	if f.healthcheck {
		if err := f.healthy(); err != nil {
			return err
		}
	}
	job, err := f.prepare(s)
	if err != nil {
		return err
	}
	job.policy.Health = f.healthcheck
	if f.log != "" {
		d, err := diagnose(ctx, []string{f.log}, f.timeout, s.in)
		if err != nil {
			return err
		}
		job.log = &d
	}
	r, err := f.waitFor(job, func() (probe.Facts, error) { return probe.Run(ctx, h, f.options()), nil })
	if err != nil {
		return err
	}
	if err := job.outputs.write(r); err != nil {
		return err
	}
	if f.healthcheck {
		return exitForHealth(r.Verdict, len(f.require) > 0)
	}
	job.config.remark(s.err, r.Verdict)
	return exitFor(r.Verdict, f.failOn, job.outputs)
}

// healthy sets what a health check is, and refuses what it cannot be.
func (f *doctorFlags) healthy() error {
	switch {
	case len(f.formats) > 0:
		return &usageError{"--healthcheck writes its one line and no other format", "leave -o out"}
	case f.given("fail-on"):
		return &usageError{"--fail-on means nothing to --healthcheck: a proven error is 1, all else 0", "leave one of them out"}
	case f.timeout == 0:
		f.timeout = healthTimeout
	}
	f.formats = []string{"line"}
	return nil
}

// waitStep is how long --wait pauses between two looks: drivers and daemons take seconds to start.
const waitStep = 2 * time.Second

// waitFor looks again until the time is up, while something that is required is missing or nothing is conclusive.
func (f *doctorFlags) waitFor(job job, facts func() (probe.Facts, error)) (report.Report, error) {
	end := time.Now().Add(f.wait)
	for {
		r, err := job.judge(facts)
		missing := r.Outcome == matrix.Inconclusive || r.Fires("required-missing")
		if err != nil || !missing || time.Now().Add(waitStep).After(end) {
			return r, err
		}
		time.Sleep(waitStep)
	}
}

// job is a judgement whose every word has been checked, before the machine is looked at.
type job struct {
	tables  *matrix.Tables
	policy  matrix.Policy
	verbose io.Writer // where it is said how the probes went; nil: nowhere
	targets []matrix.Target
	outputs outputs[report.Report]
	log     *triage.Diagnosis
	config  config
}

func (f *judgeFlags) prepare(s streams) (job, error) {
	j := job{tables: f.tables}
	var err error
	if j.config, err = f.configure(); err != nil {
		return j, err
	}
	if j.policy, err = f.policy(); err != nil {
		return j, err
	}
	j.policy.Waivers = append(j.policy.Waivers, j.config.waivers...)
	if j.targets, err = f.targets(); err != nil {
		return j, err
	}
	if f.verbose {
		j.verbose = s.err
	}
	if j.outputs, err = parseOutputs(report.Formats, f.formats, f.colour, f.all, s); err == nil && j.outputs.monitored() && f.given("fail-on") {
		err = &usageError{"--fail-on means nothing to -o nagios: the protocol's codes are 0 to 3", "leave one of them out, or give the format a file: -o nagios=FILE"}
	}
	for i := range j.outputs.list {
		j.outputs.list[i].style.Verbose = f.verbose
	}
	return j, err
}

func (j job) judge(facts func() (probe.Facts, error)) (report.Report, error) {
	found, err := facts()
	if err != nil {
		return report.Report{}, err
	}
	if j.verbose != nil {
		report.Probes(j.verbose, found.Probes)
	}
	r := report.New(tool(j.tables), found, j.targets, matrix.Check(j.tables, found, j.targets, j.policy))
	r.Log = j.log
	return r, nil
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{message: fmt.Sprintf("%s takes no argument, not %q", cmd.Name(), args[0]), hint: "cudacompat " + cmd.Name() + " --help"}
	}
	return nil
}
