package main

import (
	"fmt"
	"slices"

	"cudacompat/docs"
	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

func explainCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "explain [RULE]", Short: "A rule's page; without a rule, all of them", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(s)
			}
			if !slices.Contains(ruleIDs(), args[0]) {
				return misspelt("rule", args[0], ruleIDs())
			}
			page, err := docs.Rules.ReadFile("rules/" + args[0] + ".md")
			if err != nil {
				return err
			}
			_, err = s.out.Write(page)
			return err
		},
	}
}

func listRules(s streams) error {
	for _, r := range matrix.Rules {
		if _, err := fmt.Fprintf(s.out, "%-22s  %s\n", r.ID, r.Title); err != nil {
			return err
		}
	}
	return nil
}
