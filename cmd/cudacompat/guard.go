package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/guard"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"github.com/spf13/cobra"
)

// guardFlags are the flags before the installer's command.
type guardFlags struct {
	judgeFlags
	yes, dryRun bool
	timeout     time.Duration
}

func guardCommand(s streams) *cobra.Command {
	var f guardFlags
	cmd := &cobra.Command{
		Use:   "guard [flags] -- COMMAND",
		Short: "Check what pip or uv is about to install; run it if it is safe, else suggest what to install instead",
		Long:  "Runs the installer's own dry run, judges the environment before and after the change, and prints what breaks and what is fixed. If something breaks, nothing is installed, and the same command with pins that pass is offered. If nothing does, the command is run as typed, without a shell, and its exit code is handed through; afterwards the environment is looked at again. If it cannot be determined, guard asks, or stops where nobody can answer.\n\nThe command is run twice, as a dry run first, so it must read the same both times. guard refuses requirements that can be read only once: `-r -`, `-r /dev/stdin`, `-r <(...)`, a named pipe, and files that include these. The command gets your terminal as its standard input; if that is not a terminal, it is empty for every command except uninstall, which asks before it removes anything.\n\nUnderstood are " + guard.Forms + ".\n\nguard itself opens no connection; the installer does, with its own settings. A dry run changes no environment, but it fills the installer's cache and can run the build program of a package that comes as a source; `--only-binary :all:` avoids that.",
		Example: "  cudacompat guard -- uv pip install vllm\n" +
			"  cudacompat guard --gpu L4 -- pip install -r requirements.txt\n" +
			"  cudacompat guard --dry-run -o json -- uv sync",
		Annotations: map[string]string{exitNote: "0 fine and done, or --dry-run found nothing that breaks · 1 something would break: nothing was installed · 3 it cannot be determined, or there is no plan: nothing was installed · the installer's own code, whatever it is, once it has run · 128 and the signal where it was interrupted · " + exitOwn},
		Args:        afterDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := f.guard(cmd.Context(), s, args)
			if err == nil && code != exitOK {
				err = exitError(code)
			}
			return err
		},
	}
	f.given = cmd.Flags().Changed
	f.failOn = "error"
	flags := cmd.Flags()
	flags.StringVar(&f.driver, "driver", "", "assume driver `VERSION`")
	flags.StringSliceVar(&f.gpus, "gpu", nil,
		gpusUsage+"guard takes one machine")
	flags.StringSliceVar(&f.instances, "instance", nil,
		"assume instance `TYPE`, such as g5.xlarge (EC2 and other clouds)")
	flags.StringVar(&f.python, "python", "", "assume Python `VERSION`")
	flags.StringArrayVar(&f.ignore, "ignore", nil,
		"let findings of `RULE` pass; they stay in the report (may be repeated)")
	flags.StringVar(&f.config, "config", "", "read settings such as --ignore from `FILE` (default $CUDACOMPAT_CONFIG, then ./"+config.Name+", then /etc/cudacompat/"+config.Name+")")
	f.tablesFlag.add(cmd)
	flags.BoolVar(&f.yes, "yes", false, "run the command even if it cannot be determined whether it breaks something")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would happen and never run the command")
	flags.DurationVar(&f.timeout, "timeout", guard.DryRunLimit, "stop the installer's dry run, and a look at the environment, after `TIME`")
	flags.StringArrayVarP(&f.formats, "output", "o", nil, outputUsage(output.ListNames(plaintext.GuardFormats))+
		"; what the installer prints goes to standard error then")
	addColour(cmd, &f.colour)
	return cmd
}

// afterDash accepts a command after "--", so that its flags are its own.
func afterDash(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() == 0 {
		return nil
	}
	return &usage.Error{Message: "guard takes the installer's command behind --", Hint: "cudacompat guard -- uv pip install vllm"}
}

// nothingInstalled is printed whenever the installer was not run, so that guard's exit code 1 differs from the
// installer's.
const nothingInstalled = "guard: nothing was installed"

// guard runs all steps. The exit code is guard's own or the installer's.
func (f *guardFlags) guard(ctx context.Context, s streams, argv []string) (code int, err error) {
	signals := guard.EndSignals()
	ctx, stop := guard.StopAtSignals(ctx, signals)
	defer stop()
	command, err := guard.Parse(argv)
	if err != nil {
		return 0, &usage.Error{Message: err.Error(), Hint: "guard understands " + guard.Forms}
	}
	if err := inputs.RejectSeveralMachines("guard", f.instances, f.gpus); err != nil {
		return 0, err
	}
	g, err := f.prepareGuard(ctx, s, command)
	if err != nil {
		return 0, err
	}
	g.signals = signals
	if err := g.Predict(ctx); err != nil {
		return g.explainNoForecast(err)
	}
	g.Forecast.Configuration = g.config.DescribeEffect(g.After.Verdict, false)
	return g.act(ctx, stop)
}

// guarding is the state of one guarded command.
type guarding struct {
	*guard.Forecaster
	f       *guardFlags
	s       streams
	signals <-chan os.Signal // those that ask for the end
	outputs output.Set[guard.Forecast]
	config  config.Settings
}

func (f *guardFlags) prepareGuard(ctx context.Context, s streams, c guard.Command) (*guarding, error) {
	formats := f.formats
	outputs, err := output.Parse(plaintext.GuardFormats, formats, f.colour, false, s.out, s.err)
	if err != nil {
		return nil, err
	}
	f.formats = nil
	job, err := f.prepare(ctx, s)
	forecaster := &guard.Forecaster{Command: c, Host: probe.This(), Tables: job.Tables, Targets: job.Targets, Policy: job.Policy,
		Timeout: f.timeout, Wait: func(what string) func() { return terminal.ShowWaiting(s.err, what) }}
	if f.given("timeout") {
		forecaster.LookTimeout = f.timeout
	}
	return &guarding{Forecaster: forecaster, f: f, s: s, outputs: outputs, config: job.config}, err
}

// explainNoForecast ends the run if there is no forecast.
func (g *guarding) explainNoForecast(err error) (int, error) {
	if mistake := new(usage.Error); errors.As(err, &mistake) {
		return 0, err
	}
	terminal.Complain(g.s.err, err.Error(), "")
	fmt.Fprintln(g.s.err, nothingInstalled)
	if s := guard.Stopped(0); errors.As(err, &s) {
		return s.Exit(), nil
	}
	return exitInconclusive, nil
}

// act prints the forecast and runs the command or not. The installer then has the terminal and receives Ctrl-C.
func (g *guarding) act(ctx context.Context, stop context.CancelFunc) (int, error) {
	stops := g.stops()
	if stops != nil {
		g.Forecast.Exit = *stops
	}
	if !g.outputs.HasJSON() || stops != nil {
		if err := g.outputs.Write(ctx, g.Forecast); err != nil {
			return 0, err
		}
	}
	if stops == nil && g.Forecast.Decision == guard.Unclear && !g.f.yes && !g.askConsent(ctx) {
		no := exitInconclusive
		stops = &no
	}
	if ctx.Err() != nil {
		return g.explainNoForecast(context.Cause(ctx))
	}
	if stops != nil {
		fmt.Fprintln(g.s.err, nothingInstalled)
		if g.Forecast.Decision == guard.Unclear && !g.f.dryRun {
			fmt.Fprintln(g.s.err, g.unclearHint())
		}
		return *stops, nil
	}
	stop()
	return g.run()
}

// stops returns the exit code with which guard ends before running the installer, or nil if it continues.
func (g *guarding) stops() *int {
	code := map[guard.Decision]int{guard.Fine: exitOK, guard.Breaks: exitIncompatible, guard.Unclear: exitInconclusive}
	own := code[g.Forecast.Decision]
	asks := g.Forecast.Decision == guard.Unclear && (g.f.yes || terminal.IsTerminal(g.s.in) && terminal.IsTerminal(g.s.err))
	if g.f.dryRun || own != exitOK && !asks {
		return &own
	}
	return nil
}

func (g *guarding) unclearHint() string {
	if slices.ContainsFunc(g.After.Verdict.Judged, func(j verdict.Judged) bool { return len(j.GPUs) == 0 }) {
		return "hint: name the machine that it is for: --driver VERSION --gpu NAME, or --instance TYPE; --yes installs anyway"
	}
	return "hint: --yes installs anyway"
}

// askConsent asks on the terminal. It reads only the answer, because what follows is for the installer.
func (g *guarding) askConsent(ctx context.Context) bool {
	fmt.Fprint(g.s.err, "install anyway? [y/N] ")
	answer, err := deadline.Run(ctx, func() (string, error) { return lineOf(g.s.in), nil })
	if err != nil {
		fmt.Fprintln(g.s.err)
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

// lineOf reads one line, byte by byte.
func lineOf(in io.Reader) string {
	var line []byte
	for one := make([]byte, 1); len(line) < 100; {
		n, err := in.Read(one)
		if n > 0 && one[0] != '\n' {
			line = append(line, one[0])
			continue
		}
		if n > 0 || err != nil {
			break
		}
	}
	return string(line)
}

// run runs the command as it was typed, and reads the environment again.
func (g *guarding) run() (int, error) {
	out := g.s.out
	if g.outputs.HasJSON() {
		out = g.s.err
	}
	in := g.s.in
	if g.Command.Verb != "uninstall" && !terminal.IsTerminal(in) {
		in = nil // as for the dry run: a requirements file can include standard input
	}
	code, err := guard.Run(g.Command.Argv, g.signals, in, out, g.s.err)
	if err != nil {
		return g.explainNoForecast(err)
	}
	g.Forecast.Ran, g.Forecast.Exit = true, code
	ctx, stop := guard.StopAtSignals(context.Background(), g.signals)
	defer stop()
	g.Learn(ctx)
	if s := guard.Stopped(0); errors.As(context.Cause(ctx), &s) {
		fmt.Fprintf(g.s.err, "guard: interrupted: %s has ended with exit code %d, and what it did was not looked at\n",
			g.Command.Argv[0], code)
		return s.Exit(), nil
	}
	if g.outputs.HasJSON() {
		return code, g.outputs.Write(context.Background(), g.Forecast)
	}
	return code, plaintext.WriteGuardDifferences(g.s.err, g.Forecast)
}
