package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/offer"
	"cudacompat/internal/output"
	"cudacompat/internal/report"
	"cudacompat/internal/report/catalog"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"

	"github.com/spf13/cobra"
)

// pinsFlags are the flags of pins.
type pinsFlags struct {
	tablesFlag
	lookFlags
	driver, python  string
	gpus, instances []string
	wants           []string
	choice          string
	platform        string
	formats         []string
	colour          string
	all             bool
}

func pinsCommand(s streams) *cobra.Command {
	var f pinsFlags
	cmd := &cobra.Command{
		Use: "pins", Short: "Say which releases to install on this machine, or on another", Args: noPackage,
		Long: "Offers releases that fit together and run here. For one framework, such as torch, or one engine, such as vllm, these are up to four sets: 'keep-driver' keeps the driver, 'forward-compat' has a newer release on it by a cuda-compat package, 'smallest-driver' changes it as little as possible, and 'newest' takes the newest release. A machine that --instance or --gpu names is another one: nothing is read here. Each set names the framework, the companion packages, such as torchvision, that are known to fit it, and the driver if that must change. For other packages, or for several, it is one set that has all of them, keeps the driver (or names one if none is known), and passes `cudacompat check`; if there is none, the answer is the smallest conflict. Nothing is installed.",
		Annotations: map[string]string{exitNote: "0 at least one set was found · 1 no set fits · 3 no GPU found and none named · " +
			exitOwn},
		Example: "  cudacompat pins --instance p5.48xlarge --want torch==2.9\n" +
			"  cudacompat pins --want vllm --want flash-attn==2.8.3 --python 3.12\n" +
			"  cudacompat pins -o constraints=constraints.txt",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.tablesFlag.add(cmd)
	f.lookFlags.add(cmd)
	cmd.Flags().StringVar(&f.driver, "driver", "", "assume driver `VERSION`")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil,
		gpusUsage+"pins takes one machine")
	cmd.Flags().StringSliceVar(&f.instances, "instance", nil,
		"assume instance `TYPE`, such as g5.xlarge (EC2 and other clouds)")
	cmd.Flags().StringVar(&f.python, "python", "", "assume Python `VERSION`")
	systemFlag(cmd, &f.platform)
	cmd.Flags().StringArrayVar(&f.wants, "want", nil,
		"`PACKAGE[==RELEASE]`: what to install (default torch; may be repeated). With one framework (torch, tensorflow or jax), keep-driver and smallest-driver use RELEASE if it is given, newest ignores it")
	cmd.Flags().StringVar(&f.choice, "choice", "",
		"`SET`: of the sets for one framework or engine show only this one: keep-driver, forward-compat, smallest-driver or newest")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil,
		outputUsage(output.ListNames(catalog.PinFormats))+
			"; requirements and constraints write one set, the one that --choice names or else the first")
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVar(&f.all, "all", false, "also show every detail")
	return cmd
}

func (f *pinsFlags) run(ctx context.Context, s streams) error {
	reading, cancel := deadline.Set(ctx, f.limit())
	defer cancel()
	tables, err := f.load(reading)
	if err != nil {
		return err
	}
	if err := inputs.CheckSystem(f.platform); err != nil {
		return err
	}
	wants, err := f.parseWants(tables)
	if err != nil {
		return err
	}
	target, err := f.target(tables)
	if err != nil {
		return err
	}
	facts, err := f.facts(ctx, reading, s.err)
	if err != nil {
		return err
	}
	if f.platform == "" {
		facts = inputs.AssumeWindows(tables, facts, []matrix.Target{target}, s.err)
	}
	if err := inputs.RefuseWindowsDriver(tables, facts.System, f.platform, target); err != nil {
		return err
	}
	judging, cancel := deadline.StartJudging(reading)
	defer cancel()
	pins, err := deadline.Run(judging, func() (pin.Sets, error) { return offer.Sets(judging, tables, facts, target, wants), nil })
	if err != nil {
		terminal.Complain(s.err, err.Error(), "give more --timeout, or --env for one environment")
		return exitError(exitInconclusive)
	}
	if len(pins.Target.GPUs) == 0 {
		terminal.Complain(s.err, "no GPU is here and none is named",
			"cudacompat pins --instance g5.xlarge --driver "+report.ExampleDriver+", or --gpu L4")
		return exitError(exitInconclusive)
	}
	if f.elsewhere() && f.platform == "" {
		pins.Target.Assumed = append(pins.Target.Assumed, pins.Target.Platform+" (--platform changes it)")
	}
	if f.choice != "" {
		pins = pins.Only(pin.Choice(f.choice))
	}
	if len(pins.Sets) == 0 && !slices.ContainsFunc(f.formats, isJSON) {
		f.formats = []string{"text"} // a requirements file of nothing would install nothing, silently
	}
	if err := output.ParseAndWrite(reading, s.out, s.err, catalog.PinFormats, f.formats, f.colour, f.all, pins); err != nil {
		return err
	}
	switch {
	case len(pins.Sets) > 0:
		return nil
	case pins.Target.Driver == "" && len(wants) > 0 && !offer.Alone(tables, wants):
		return exitError(exitInconclusive)
	}
	return exitError(exitIncompatible)
}

// elsewhere reports whether the sets are for a machine that is described, not for this one.
func (f *pinsFlags) elsewhere() bool {
	return len(f.instances)+len(f.gpus) > 0 || f.platform == inputs.Windows || f.platform == inputs.WSL
}

func isJSON(spec string) bool { name, _, _ := strings.Cut(spec, "="); return name == "json" }

// facts reads this machine, unless the flags name another one. This machine's C library, kernel and packages say nothing
// about that, so facts then reads only the environments that --env names.
func (f *pinsFlags) facts(ctx, reading context.Context, says io.Writer) (probe.Facts, error) {
	if f.elsewhere() && f.root == "" && len(f.envs) == 0 {
		return inputs.ApplyPlatform(f.platform, probe.Facts{}), nil
	}
	h, err := f.host(reading)
	if err != nil {
		return probe.Facts{}, err
	}
	facts := f.readMachine(ctx, h, says)
	if f.elsewhere() && f.root == "" {
		facts = environmentsOf(facts)
	}
	return inputs.ApplyPlatform(f.platform, facts), nil
}

// environmentsOf returns the environments of a machine, without the machine: its kernel, system and C library are not
// those of the machine that the sets are for.
func environmentsOf(f probe.Facts) probe.Facts {
	environments := probe.Facts{Schema: f.Schema, Environments: f.Environments}
	environments.System.Arch = f.System.Arch
	return environments
}

// maxWanted limits the packages of one set, because a conflict is searched among all subsets.
const maxWanted = 10

// noPackage rejects arguments as noArgs does. If one looks like a package, the hint is to name it with --want.
func noPackage(cmd *cobra.Command, args []string) error {
	err := noArgs(cmd, args)
	if len(args) > 0 && inputs.IsWant(args[0]) && !inputs.Exists(args[0]) {
		return &usage.Error{Message: err.Error(), Hint: "cudacompat pins --want " + strings.Join(args, " --want ")}
	}
	return err
}

// parseWants parses --want.
func (f *pinsFlags) parseWants(t *matrix.Tables) ([]pin.Want, error) {
	if len(f.wants) == 0 {
		f.wants = []string{"torch"}
	}
	if len(f.wants) > maxWanted {
		return nil, &usage.Error{Message: fmt.Sprintf("--want is given %d times, %d is the most", len(f.wants), maxWanted)}
	}
	var list []pin.Want
	for _, text := range f.wants {
		want, err := inputs.ParseWant(t, text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(o pin.Want) bool { return o.Package == want.Package }) {
			return nil, &usage.Error{Message: "--want names " + want.Package + " twice"}
		}
		list = append(list, want)
	}
	switch {
	case f.choice != "" && !offer.Alone(t, list):
		return nil, &usage.Error{Message: "--choice is for the sets of one framework or engine: of what --want names there is one set"}
	case f.choice != "" && !slices.Contains(pin.Choices(), pin.Choice(f.choice)):
		return nil, usage.RejectUnknown("set for --choice", f.choice, choiceNames())
	}
	return list, nil
}

func choiceNames() []string {
	var names []string
	for _, c := range pin.Choices() {
		names = append(names, string(c))
	}
	return names
}

func (f *pinsFlags) target(tables *matrix.Tables) (matrix.Target, error) {
	t := matrix.Target{Driver: tables.DriverOf(f.driver), Python: f.python}
	if err := inputs.RejectSeveralMachines("pins", f.instances, f.gpus); err != nil {
		return t, err
	}
	list, err := inputs.ListTargets(tables, t, f.instances, f.gpus)
	if err != nil || len(list) > 0 {
		return append(list, t)[0], err
	}
	return t, inputs.CheckTarget(t, tables)
}
