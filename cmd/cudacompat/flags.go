package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lookFlags are the flags that say what to read.
type lookFlags struct {
	root    string
	offline bool
	envs    []string
	timeout time.Duration
}

func (f *lookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.root, "root", "", "read the tree under `DIR` (a mounted AMI, an unpacked image, a node's file system mounted in a pod) instead of this machine")
	cmd.Flags().BoolVar(&f.offline, "offline", false,
		"ignore the running driver and read only files, to judge the system as it will be after its next boot (for image builds)")
	cmd.Flags().StringArrayVar(&f.envs, "env", nil,
		"look only at the Python environment at `PATH` (may be repeated); --env none looks at no environment (default: the active one, those of running Python processes, and all others that are found; the report says by what each was found)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop after `TIME` and use what was read by then (default 10s, longer with many GPUs; 120s with --root or --offline)")
}

// limit returns how long reading files may take.
func (f *lookFlags) limit() time.Duration {
	switch {
	case f.timeout > 0:
		return f.timeout
	case f.root != "" || f.offline:
		return deadline.Rest
	}
	return deadline.Live
}

// host returns the machine that the flags name, and looks for the named environments for as long as ctx lasts.
func (f *lookFlags) host(ctx context.Context) (*probe.Host, error) {
	return deadline.Run(ctx, func() (*probe.Host, error) { return f.openHost(ctx) })
}

func (f *lookFlags) openHost(ctx context.Context) (*probe.Host, error) {
	var h *probe.Host
	switch {
	case runtime.GOOS == "windows":
		return nil, &usage.Error{Message: "on Windows, cudacompat judges files and reports, but does not look at the machine",
			Hint: "cudacompat check FILE with what `python -m torch.utils.collect_env` prints; or install the Linux program inside WSL2"}
	case f.root != "" && f.offline:
		return nil, &usage.Error{Message: "--root and --offline are two ways to look only at files", Hint: "give one of them"}
	case f.offline:
		h = probe.Offline()
	case f.root != "":
		var err error
		if h, err = probe.Tree(f.root); err != nil {
			return nil, &usage.Error{Message: fmt.Sprintf("--root %s: %v", f.root, err),
				Hint: "give the directory under which the tree's /usr and /etc stand"}
		}
	default:
		h = probe.This()
	}
	h.Budget = budget.Usual(ctx)
	for i, env := range f.envs {
		if env == probe.NoEnvironments {
			continue
		}
		if f.envs[i] = inputs.FindEnvironment(h, env); f.envs[i] == "" {
			return nil, &usage.Error{Message: "no Python environment at " + env,
				Hint: "give the directory that holds pyvenv.cfg, lib/python3.*, or what pip install --target put there; or none"}
		}
	}
	return h, nil
}

func (f *lookFlags) options() probe.Options {
	opt := probe.Options{Timeout: f.timeout, Envs: f.envs}
	if f.timeout == 0 && f.limit() == deadline.Rest {
		opt.Timeout = deadline.Rest
	}
	return opt
}

// judgeFlags are the flags that say for which machine to judge, and how strictly.
type judgeFlags struct {
	tablesFlag
	driver, python  string
	gpus, instances []string
	require, ignore []string
	failOn          string
	formats         []string
	colour          string
	all, verbose    bool
	tables          *matrix.Tables
	given           func(flag string) bool // whether the caller gave it
	again           func() string          // the command that judges the same again
	config          string
	health          bool // what is judged is a health check
}

// again returns a command as it was typed, without output flags. For check it returns none: steps change the machine
// and not the file that was checked, so doctor must look again.
func again(cmd *cobra.Command) string {
	words, args := strings.Fields(cmd.CommandPath()), cmd.Flags().Args()
	ofFile := []string{}
	if cmd.Name() == "check" {
		words, args = []string{cmd.Root().Name(), "doctor"}, nil
		ofFile = []string{"env", "include-root", "platform", "timeout", "verify"}
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		list, many := flag.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(ofFile, flag.Name):
		case slices.Contains([]string{"output", "color", "all", "verbose", "save", "wait"}, flag.Name):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		case many:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+flag.Name, value)
			}
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return pin.Command(append(words, args...)...)
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	f.given = cmd.Flags().Changed
	f.again = func() string { return again(cmd) }
	cmd.Flags().StringVar(&f.driver, "driver", "", "assume driver `VERSION`, or that of a SageMaker AMI, by its name")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil,
		gpusUsage+"give a verdict for each of several")
	cmd.Flags().StringSliceVar(&f.instances, "instance", nil,
		"give a verdict for each instance type in `LIST`, such as g5.xlarge (EC2 and other clouds)")
	cmd.Flags().StringVar(&f.python, "python", "", "assume Python `VERSION`")
	cmd.Flags().StringSliceVar(&f.require, "require", nil,
		"require what `LIST` names: driver, gpu, build (a framework built for CUDA), efa (a network adapter); exit 1 if one is missing, 3 if it could not be checked")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "exit 1 on findings of at least this `SEVERITY`: error or warning; with never, no finding sets the exit code")
	cmd.Flags().StringVar(&f.config, "config", "",
		"read settings such as --require and --ignore from `FILE` (default $CUDACOMPAT_CONFIG, then ./"+config.Name+
			", then /etc/cudacompat/"+config.Name+")")
	cmd.Flags().StringArrayVar(&f.ignore, "ignore", nil,
		"let findings of `RULE` pass; they stay in the report (may be repeated)")
	f.tablesFlag.add(cmd)
	addOutput(cmd, &f.formats, &f.colour, &f.all)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false,
		"report how each fact was read, what could not be read, and where a table disagrees")
}

func addOutput(cmd *cobra.Command, outputs *[]string, colour *string, all *bool) {
	cmd.Flags().StringArrayVarP(outputs, "output", "o", nil,
		outputUsage(output.ListNames(formats.All)))
	addColour(cmd, colour)
	cmd.Flags().BoolVar(all, "all", false, "also show what passed, and every detail")
}

// outputUsage returns the help of -o for a command with these formats.
func outputUsage(formats []string) string {
	return "`FORMAT[=FILE]`: write the report as FORMAT, to FILE if one is given (may be repeated); FORMAT is one of " +
		strings.Join(formats, ", ")
}

func addColour(cmd *cobra.Command, colour *string) {
	cmd.Flags().StringVar(colour, "color", "auto", "`WHEN`: colour the output: auto, always or never; auto obeys NO_COLOR")
}

// policy checks the flags and returns the policy for matrix.
func (f *judgeFlags) policy() (verdict.Policy, error) {
	p := verdict.Policy{Today: time.Now().Format(time.DateOnly), Site: site}
	if !slices.Contains(config.FailOnValues, f.failOn) {
		return p, usage.RejectUnknown("severity for --fail-on", f.failOn, config.FailOnValues)
	}
	for _, want := range f.require {
		if !slices.Contains(matrix.Requirements(), want) {
			return p, usage.RejectUnknown("requirement", want, matrix.Requirements())
		}
	}
	p.Require = f.require
	for _, rule := range f.ignore {
		if !slices.Contains(matrix.RuleIDs(), rule) {
			return p, usage.RejectUnknown("rule", rule, matrix.RuleIDs())
		}
		p.Waivers = append(p.Waivers, verdict.Waiver{Rule: rule, Reason: "--ignore"})
	}
	return p, nil
}

// targets returns the machines to judge for, or one unnamed target if the flags name none.
func (f *judgeFlags) targets() ([]matrix.Target, error) {
	base := matrix.Target{Driver: f.tables.DriverOf(f.driver), Python: f.python}
	list, err := inputs.ListTargets(f.tables, base, f.instances, f.gpus)
	if err == nil && len(list) == 0 {
		list, err = []matrix.Target{base}, inputs.CheckTarget(base, f.tables)
	}
	return list, err
}

// gpusUsage begins the help of --gpu.
const gpusUsage = "assume a machine with `GPUS`, by name or compute capability, such as L4, 9.0, 8xL4 (eight of them), or P100+H100 (both); "

// readMachine reads the machine and shows on a terminal what takes long.
func (f *lookFlags) readMachine(ctx context.Context, h *probe.Host, says io.Writer) probe.Facts {
	p := terminal.NewProgress(says)
	defer p.End()
	opt := f.options()
	if !p.IsShown() {
		return probe.Run(ctx, h, opt)
	}
	reading := make(chan string, 100)
	opt.Tell = func(source string) {
		select {
		case reading <- source:
		default:
		}
	}
	done := make(chan struct{})
	defer close(done)
	go p.Watch(f.nameMachine(), reading, done)
	return probe.Run(ctx, h, opt)
}

// nameMachine returns what is being read, for a progress line.
func (f *lookFlags) nameMachine() string {
	if f.root != "" {
		return f.root
	}
	return "this machine"
}
