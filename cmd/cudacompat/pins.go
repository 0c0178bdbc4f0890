package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix"
	"cudacompat/pin"
	"cudacompat/probe"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

// pinsFlags say for which machine, which framework, and which of the answers.
type pinsFlags struct {
	tablesFlag
	lookFlags
	driver, instance, python string
	gpus                     []string
	framework, choice        string
	formats                  []string
	colour                   string
	all                      bool
}

func pinsCommand(s streams) *cobra.Command {
	var f pinsFlags
	cmd := &cobra.Command{
		Use: "pins", Short: "Say which framework releases to install on this machine, or on another", Args: noFramework,
		Long: "Offers up to three sets of releases that fit together. 'keep-driver' keeps the driver, 'smallest-driver' changes it as little as possible, and 'newest' takes the framework's newest release. Each set names the framework, the companion packages, such as torchvision, that are known to fit it, and the driver if that must change. Nothing is installed.",
		Annotations: map[string]string{exitNote: "0 at least one set was found · 1 no set fits · 3 no GPU found and none named · " +
			exitOwn},
		Example: "  cudacompat pins --instance p5.48xlarge --framework torch==2.9\n" +
			"  cudacompat pins -o constraints=constraints.txt",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	cmd.SetContext(context.Background())
	f.tablesFlag.add(cmd)
	f.lookFlags.add(cmd)
	cmd.Flags().StringVar(&f.driver, "driver", "", "assume driver `VERSION`")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil,
		"assume one machine with the GPUs in `LIST`, by name or compute capability, such as L4 or 9.0")
	cmd.Flags().StringVar(&f.instance, "instance", "",
		"assume instance `TYPE`, such as g5.xlarge (EC2 and other clouds)")
	cmd.Flags().StringVar(&f.python, "python", "", "assume Python `VERSION`")
	cmd.Flags().StringVar(&f.framework, "framework", "torch",
		"`NAME[==RELEASE]`: the framework to install: torch, tensorflow or jax; keep-driver and smallest-driver use RELEASE if it is given, newest ignores it")
	cmd.Flags().StringVar(&f.choice, "choice", "", "`SET`: show only this set: keep-driver, smallest-driver or newest")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil,
		outputUsage(namesOf(report.PinFormats))+
			"; requirements and constraints write one set, the one that --choice names or else the first")
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVar(&f.all, "all", false, "also show every detail")
	return cmd
}

func (f *pinsFlags) run(ctx context.Context, s streams) error {
	reading, cancel := bounded(ctx, f.limit())
	defer cancel()
	tables, err := f.load(reading)
	if err != nil {
		return err
	}
	want, err := f.wanted()
	if err != nil {
		return err
	}
	target, err := f.target(tables)
	if err != nil {
		return err
	}
	facts, err := f.facts(ctx, reading)
	if err != nil {
		return err
	}
	judging, cancel := forJudging(reading)
	defer cancel()
	pins, err := inTime(judging, func() (pin.Sets, error) { return matrix.Pins(tables, facts, target, want), nil })
	if err != nil {
		complain(s.err, err.Error(), "give more --timeout, or --env for one environment")
		return exitError(exitInconclusive)
	}
	if len(pins.Target.GPUs) == 0 {
		complain(s.err, "no GPU is here and none is named",
			"cudacompat pins --instance g5.xlarge --driver "+report.ExampleDriver+", or --gpu L4")
		return exitError(exitInconclusive)
	}
	if f.choice != "" {
		pins = pins.Only(pin.Choice(f.choice))
	}
	if len(pins.Sets) == 0 && !slices.ContainsFunc(f.formats, isJSON) {
		f.formats = []string{"text"} // a requirements file of nothing would install nothing, silently
	}
	if err := emit(s, report.PinFormats, f.formats, f.colour, f.all, pins); err != nil {
		return err
	}
	if len(pins.Sets) == 0 {
		return exitError(exitIncompatible)
	}
	return nil
}

func isJSON(spec string) bool { name, _, _ := strings.Cut(spec, "="); return name == "json" }

// facts are this machine's. For a target that is another machine its own C library and packages say nothing, so
// nothing is looked at there.
func (f *pinsFlags) facts(ctx, reading context.Context) (probe.Facts, error) {
	elsewhere := (f.instance != "" || len(f.gpus) > 0) && f.driver != ""
	if elsewhere && f.root == "" && len(f.envs) == 0 {
		return probe.Facts{}, nil
	}
	h, err := inTime(reading, f.host)
	if err != nil {
		return probe.Facts{}, err
	}
	return probe.Run(ctx, h, f.options()), nil
}

var frameworkText = lazyregexp.New(`^([A-Za-z-]+)(?:==(\d+(?:\.\d+){1,3}))?$`)

// wanted reads --framework.
// noFramework is noArgs, for people who name the framework without its flag.
func noFramework(cmd *cobra.Command, args []string) error {
	err := noArgs(cmd, args)
	if len(args) > 0 && slices.Contains(matrix.Frameworks(), strings.Split(args[0], "==")[0]) {
		return &usageError{err.Error(), "cudacompat pins --framework " + args[0]}
	}
	return err
}

func (f *pinsFlags) wanted() (pin.Wanted, error) {
	name, _, _ := strings.Cut(f.framework, "==")
	if !slices.Contains(matrix.Frameworks(), name) {
		return pin.Wanted{}, misspelt("framework", name, matrix.Frameworks())
	}
	m := frameworkText.FindStringSubmatch(f.framework)
	if m == nil {
		return pin.Wanted{}, &usageError{message: fmt.Sprintf("--framework %s names no release", f.framework),
			hint: "--framework torch==2.6"}
	}
	if f.choice != "" && !slices.Contains(pin.Choices(), pin.Choice(f.choice)) {
		return pin.Wanted{}, misspelt("set for --choice", f.choice, choiceNames())
	}
	return pin.Wanted{Framework: m[1], Release: m[2]}, nil
}

func choiceNames() []string {
	var names []string
	for _, c := range pin.Choices() {
		names = append(names, string(c))
	}
	return names
}

func (f *pinsFlags) target(tables *matrix.Tables) (matrix.Target, error) {
	t := matrix.Target{Instance: f.instance, Driver: f.driver, GPUs: f.gpus, Python: f.python}
	if f.instance != "" && !tables.HasInstance(f.instance) {
		return t, misspeltOf("GPU instance type", f.instance, tables.InstanceNames(), listInstances)
	}
	return t, checked(t, tables)
}
