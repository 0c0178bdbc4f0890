package main

import (
	"context"

	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

func doctorCommand(s streams) *cobra.Command {
	var look lookFlags
	var judge judgeFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Probe this machine, check what was found, report: the main job", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			judge.tables = matrix.Embedded()
			h, err := look.host()
			if err != nil {
				return err
			}
			return judge.run(s, func() (probe.Facts, error) { return probe.Run(cmd.Context(), h, look.options()), nil })
		},
	}
	cmd.SetContext(context.Background())
	look.add(cmd)
	judge.add(cmd)
	return cmd
}

// run is doctor and check alike: facts, judgement, report, exit code. Every word of the command line is checked
// before the machine is looked at.
func (f *judgeFlags) run(s streams, facts func() (probe.Facts, error)) error {
	policy, err := f.policy()
	if err != nil {
		return err
	}
	targets, err := f.targets()
	if err != nil {
		return err
	}
	outputs, err := parseOutputs(f.formats, f.colour, f.all, s)
	if err != nil {
		return err
	}
	found, err := facts()
	if err != nil {
		return err
	}
	r := report.Report{Schema: report.Schema, Tool: tool(f.tables), Facts: found, Verdict: matrix.Check(f.tables, found, targets, policy)}
	if err := outputs.write(r); err != nil {
		return err
	}
	return exitFor(r.Verdict, f.failOn)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{message: "cudacompat " + cmd.Name() + " takes no argument, not " + args[0], hint: "cudacompat " + cmd.Name() + " --help"}
	}
	return nil
}
