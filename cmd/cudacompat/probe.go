package main

import (
	"cudacompat/probe"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

func probeCommand(s streams) *cobra.Command {
	var look lookFlags
	cmd := &cobra.Command{
		Use: "probe", Short: "The facts alone, as JSON", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := bounded(cmd.Context(), look.limit())
			defer cancel()
			h, err := inTime(ctx, look.host)
			if err != nil {
				return err
			}
			return report.Facts(s.out, probe.Run(cmd.Context(), h, look.options()))
		},
	}
	look.add(cmd)
	return cmd
}
