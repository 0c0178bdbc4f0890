package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func completionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for a shell",
		Long:        "Prints a script that completes commands and flags in bash, fish, powershell or zsh. The script for bash needs the package bash-completion.",
		Annotations: map[string]string{exitNote: exitPlain},
		ValidArgs:   shells,
		Example:     "  source <(cudacompat completion bash)\n  cudacompat completion fish | source",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return &usageError{message: fmt.Sprintf("completion takes one shell, not %d", len(args)),
					hint: "one of " + inWords(shells)}
			case !slices.Contains(shells, args[0]):
				return misspelt("shell", args[0], shells)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.out, true)
			case "fish":
				return root.GenFishCompletion(s.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.out)
			default:
				return root.GenZshCompletion(s.out)
			}
		},
	}
}

// helpCommand returns cobra's help command, except that an unknown word is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show what a command does, and its flags",
		Long:        "Shows what a command does, with its flags, examples and exit codes.",
		Annotations: map[string]string{exitNote: exitPlain}, Args: atMostOne,
		Example: "  cudacompat help doctor\n  cudacompat help",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic := cmd.Root()
			if len(args) == 1 {
				i := slices.IndexFunc(topic.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] })
				if i < 0 {
					return misspelt("command", args[0], commandNames(cmd.Root()))
				}
				topic = topic.Commands()[i]
			}
			return topic.Help()
		},
	}
}
