package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/judge"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/output"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix/pin"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
)

// doctorFlags are the flags of doctor, apart from those for reading and judging.
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
		Use: "doctor", Short: "Check this machine, or a mounted image (start here)", Args: noArgs,
		Long: "Examines the driver and the GPUs (through NVML if it works, otherwise from files), the CUDA toolkits, CUDA programs outside Python, and every installation of PyTorch, TensorFlow and JAX with its cuDNN, NCCL and extensions. Compares them with published tables, and reports each mismatch with its evidence, its source and what to install. Imports no Python package and changes nothing.",
		Example: "  cudacompat doctor\n" +
			"  cudacompat doctor --root /mnt/ami --instance p5.48xlarge --require driver",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.doctor(cmd.Context(), s) },
	}
	f.lookFlags.add(cmd)
	f.judgeFlags.add(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", 0,
		"retry for up to `TIME`, until everything that --require names is present and the outcome is conclusive; --timeout limits each attempt (for a machine's first boot)")
	cmd.Flags().BoolVar(&f.healthcheck, "healthcheck", false,
		"print one line and exit with 0 or 1, never 3: an inconclusive result is 0, or 1 if --require is given; --timeout is 15s unless given")
	cmd.Flags().StringVar(&f.log, "log", "", "judge the log in `FILE` together with the machine (- for standard input)")
	return cmd
}

func (f *doctorFlags) doctor(ctx context.Context, s streams) error {
	if f.healthcheck {
		if err := f.healthy(); err != nil {
			return err
		}
	}
	began := time.Now()
	reading, cancel := deadline.Set(ctx, max(f.limit(), deadline.JudgingReserve)) // tables and configuration are small files
	defer cancel()
	h, err := f.host(reading)
	if err != nil {
		return err
	}
	job, err := f.prepare(reading, s)
	if err != nil {
		return err
	}
	job.outputs.EditStyles(func(style *layout.Style) { style.Root = f.root })
	job.Policy.Health = f.healthcheck
	if f.log != "" {
		d, err := f.diagnosis(reading, s.in)
		if err != nil {
			return err
		}
		job.Log = &d
	}
	r, looked, err := f.waitFor(ctx, job, h, began, s.err)
	if err != nil {
		return err
	}
	err = job.outputs.Write(looked, r)
	switch {
	case f.healthcheck: // whoever reads the line may be gone; the code is what counts
		return exitForHealth(r.Verdict, len(f.require) > 0)
	case err != nil:
		return err
	}
	job.remarkUnmatched(s.err, r.Verdict)
	return exitFor(r.Verdict, f.failOn, job.outputs)
}

// diagnosis returns the diagnosis of the named log.
func (f *doctorFlags) diagnosis(ctx context.Context, stdin io.Reader) (logs.Diagnosis, error) {
	all, err := f.signatures(f.tables)
	if err != nil {
		return logs.Diagnosis{}, err
	}
	d, _, err := inputs.ReadLogs(ctx, all, []string{f.log}, f.timeout, stdin)
	return d, err
}

// healthy sets the options of a health check, and rejects incompatible flags.
func (f *doctorFlags) healthy() error {
	switch {
	case len(f.formats) > 0:
		return &usage.Error{Message: "--healthcheck writes its one line and no other format", Hint: "leave -o out"}
	case f.given("fail-on"):
		return &usage.Error{Message: "--fail-on means nothing to --healthcheck: a proven error is 1, all else 0",
			Hint: "leave one of them out"}
	case f.timeout == 0:
		f.timeout = deadline.Health
	}
	f.health = true
	f.formats = []string{"line"}
	ignoreBrokenPipe()
	return nil
}

// waitStep is the pause of --wait between two looks. Drivers and daemons take seconds to start.
const waitStep = 2 * time.Second

// waitFor looks again until the deadline, as long as a required thing is missing or the result is inconclusive. Each
// look gets the time of --timeout, the first one from the start of the command. The returned context is that of the
// last look, which writing shares.
func (f *doctorFlags) waitFor(ctx context.Context, job job, h *probe.Host, began time.Time, says io.Writer) (report.Report, context.Context, error) {
	end, said := time.Now().Add(f.wait), ""
	for ; ; began = time.Now() {
		r, looked, err := f.look(ctx, job, h, began, says)
		if err != nil || !judge.CanChange(r, f.require) || time.Now().Add(waitStep).After(end) {
			return r, looked, err
		}
		if line := plaintext.FormatHeadline(r); line != said && !f.healthcheck {
			terminal.Complain(says, fmt.Sprintf("waiting up to %s: %s", time.Until(end).Round(time.Second), line), "")
			said = line
		}
		time.Sleep(waitStep)
	}
}

// look reads the machine once and judges it. The time of --timeout runs from began. Without --timeout each source of
// facts has its own limit, NVML's by the number of GPUs.
func (f *doctorFlags) look(ctx context.Context, job job, h *probe.Host, began time.Time, says io.Writer) (report.Report, context.Context, error) {
	if f.timeout > 0 {
		bound, cancel := deadline.SetReserving(ctx, f.timeout, time.Since(began))
		defer cancel()
		ctx = bound
	}
	r, err := job.report(ctx, func() (probe.Facts, error) {
		found := f.readMachine(ctx, h, says)
		if job.Log != nil {
			for _, why := range job.Log.Unread {
				found.Unread = append(found.Unread, facts.Unread{Place: f.log, Reason: why, Kind: facts.UnreadCut})
			}
		}
		return found, nil
	})
	return r, ctx, err
}

// job is a judgement with what is done with its result.
type job struct {
	judge.Job
	outputs output.Set[report.Report]
	config  config.Settings
	failOn  string // the severity that sets the exit code; empty: none does
}

// report judges facts, and says what the configuration changed.
func (j job) report(ctx context.Context, facts func() (probe.Facts, error)) (report.Report, error) {
	r, err := j.Judge(ctx, facts)
	if err == nil {
		r.Configuration = j.describeEffect(r.Verdict)
	}
	return r, err
}

func (f *judgeFlags) prepare(ctx context.Context, s streams) (job, error) {
	j := job{Job: judge.Job{Remarks: s.err}}
	var err error
	if f.tables, err = f.load(ctx); err != nil {
		return j, err
	}
	j.Tables = f.tables
	j.Signatures = func() ([]signature.Signature, error) { return f.signatures(f.tables) }
	if j.config, err = f.configureInTime(ctx); err != nil {
		return j, err
	}
	if j.Policy, err = f.policy(); err != nil {
		return j, err
	}
	if !f.health {
		j.failOn = f.failOn
	}
	j.Policy.Waivers = append(j.Policy.Waivers, j.config.Waivers...)
	if j.Targets, err = f.targets(); err != nil {
		return j, err
	}
	if f.verbose {
		j.Verbose = s.err
	}
	if j.outputs, err = output.Parse(reportFormats(), f.formats, f.colour, f.all, s.out, s.err); err == nil &&
		j.outputs.IsReadByMonitor() && f.given("fail-on") {
		err = &usage.Error{Message: "--fail-on means nothing to -o nagios: the protocol's codes are 0 to 3",
			Hint: "leave one of them out, or give the format a file: -o nagios=FILE"}
	}
	hashed := j.outputs.HasJSON() || f.path != "" // a site's own tables
	j.Tool = func() report.Tool { return tool(f.tables, hashed) }
	j.outputs.EditStyles(func(style *layout.Style) {
		if style.Verbose = f.verbose; f.again != nil { // guard has none
			style.Again = f.again()
		}
	})
	return j, err
}

// configureInTime reads the configuration. A health check continues without a broken one and names it: a container is
// not unhealthy because a file of waivers cannot be read.
func (f *judgeFlags) configureInTime(ctx context.Context) (config.Settings, error) {
	name := cmp.Or(f.namedConfig(), "./"+config.Name)
	c, err := deadline.Run(ctx, f.configure)
	if late := new(deadline.Error); errors.As(err, &late) {
		err = &deadline.Error{Err: &config.UnreadableError{Name: name, Err: late}, Hint: config.Hint}
	}
	if err != nil && f.health {
		return config.Settings{Source: config.File{Ignored: []config.Ignored{{File: name, Why: "it is broken"}}}}, nil
	}
	return c, err
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usage.Error{Message: fmt.Sprintf("%s takes no arguments, but %q was given", cmd.Name(), args[0]),
			Hint: noArgsHint(cmd.Name(), args[0])}
	}
	return nil
}

// noArgsHint says which command takes a file, if a file was given; otherwise where the flags are.
func noArgsHint(command, arg string) string {
	if command == "pins" && inputs.IsFile(arg) && inputs.Exists(arg) {
		return "cudacompat check " + pin.Word(arg) + " judges the file; pins takes a machine: cudacompat pins --driver " + report.ExampleDriver + " --gpu L4"
	}
	return "cudacompat " + command + " --help"
}
