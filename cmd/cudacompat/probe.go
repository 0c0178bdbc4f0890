package main

import (
	"cudacompat/internal/deadline"
	"cudacompat/internal/output"
	"cudacompat/internal/report"

	"github.com/spf13/cobra"
)

func probeCommand(s streams) *cobra.Command {
	var look lookFlags
	var formats []string
	cmd := &cobra.Command{
		Use: "probe", Short: "Print the facts about this machine as JSON", Args: noArgs,
		Long: "Prints what `doctor` would judge, without judging it: one JSON document that `check`, `fleet` and `explain --facts` read. With -o fleet it is one line, compressed if it would be longer than container logs take, which `fleet` reads. It holds no host name and no serial number; paths in it can contain a user's name.",
		Example: "  cudacompat probe > facts.json\n  cudacompat probe --root /mnt/ami\n" +
			"  cudacompat probe --env none -o fleet",
		Annotations: map[string]string{exitNote: exitPlain},
		RunE: func(cmd *cobra.Command, _ []string) error {
			outputs, err := output.Parse(report.FactsFormats, formats, "never", false, s.out, s.err)
			if err != nil {
				return err
			}
			ctx, cancel := deadline.Set(cmd.Context(), look.limit())
			defer cancel()
			h, err := look.host(ctx)
			if err != nil {
				return err
			}
			if look.timeout == 0 { // each source of facts has its own limit
				ctx = cmd.Context()
			}
			return outputs.Write(ctx, look.readMachine(ctx, h, s.err))
		},
	}
	look.add(cmd)
	cmd.Flags().StringArrayVarP(&formats, "output", "o", nil, outputUsage(output.ListNames(report.FactsFormats)))
	return cmd
}
