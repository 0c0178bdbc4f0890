package main

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/config"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report"
	"cudacompat/internal/report/catalog"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/tables"
	"cudacompat/internal/usage"
	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func completionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for a shell",
		Long:        "Prints a script that completes commands, flags and their values (GPUs, instance types, packages, rules) in bash, fish, powershell or zsh. The script for bash needs the package bash-completion.",
		Annotations: map[string]string{exitNote: exitPlain},
		ValidArgs:   shells,
		Example:     "  source <(cudacompat completion bash)\n  cudacompat completion fish | source",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return &usage.Error{Message: fmt.Sprintf("completion takes one shell, not %d", len(args)),
					Hint: "one of " + usage.JoinWords(shells)}
			case !slices.Contains(shells, args[0]):
				return usage.RejectUnknown("shell", args[0], shells)
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

// completeValues lets the shell complete the values of flags, and the arguments of commands that take known words. What
// is not completed here is a file. Only a shell's request needs this (cobra.ShellCompRequestCmd).
func completeValues(root *cobra.Command) {
	t := matrix.Embedded()
	flags := map[string][]string{"gpu": inputs.ListGPUs(t), "instance": t.InstanceNames(), "want": matrix.PackageNames(t),
		"platform": inputs.Systems, "choice": choiceNames(), "require": matrix.Requirements(), "ignore": matrix.RuleIDs(),
		"fail-on": config.FailOnValues, "color": output.ColourWords}
	for _, c := range root.Commands() {
		for name, values := range flags {
			if c.Flags().Lookup(name) != nil {
				c.RegisterFlagCompletionFunc(name, completeOneOf(values)) // fails only if the flag is unknown or done
			}
		}
		if formats := formatNames()[c.Name()]; formats != nil {
			c.RegisterFlagCompletionFunc("output", completeOneOf(formats))
		}
		if words := argumentWords(t)[c.Name()]; words != nil {
			c.ValidArgsFunction = completeWordOrFile(words)
		}
	}
}

// formatNames returns the formats of -o by command.
func formatNames() map[string][]string {
	return map[string][]string{"doctor": output.ListNames(reportFormats()), "check": output.ListNames(reportFormats()),
		"probe": output.ListNames(report.FactsFormats), "explain": output.ListNames(explainFormats()), "fleet": output.ListNames(fleetFormats()),
		"guard": output.ListNames(plaintext.GuardFormats), "matrix": output.ListNames(catalog.GridFormats), "pins": output.ListNames(catalog.PinFormats),
		"requires": output.ListNames(requireFormats())}
}

// argumentWords returns the words that a command takes as its first argument, by command.
func argumentWords(t *matrix.Tables) map[string][]string {
	words := map[string][]string{"explain": matrix.RuleIDs(), "matrix": append(tables.Names(), "why")}
	for _, name := range inputs.ExampleNames() {
		words["check"] = append(words["check"], inputs.ExamplePrefix+name)
	}
	if names, err := schemaNames(); err == nil {
		words["schema"] = names
	}
	return words
}

// completeOneOf completes a value that is one of words, or a list of them with commas.
func completeOneOf(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		i := strings.LastIndex(typed, ",") + 1
		found := beginningWith(words, typed[i:])
		for k := range found {
			found[k] = typed[:i] + found[k]
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWordOrFile completes a first argument that is one of words or a file. Further arguments are files.
func completeWordOrFile(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return beginningWith(words, typed), cobra.ShellCompDirectiveDefault
	}
}

// beginningWith returns the words that begin with typed, in any case of letters, sorted.
func beginningWith(words []string, typed string) []string {
	var found []string
	for _, word := range words {
		if len(word) >= len(typed) && strings.EqualFold(word[:len(typed)], typed) {
			found = append(found, word)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
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
					return usage.RejectUnknown("command", args[0], commandNames(cmd.Root()))
				}
				topic = topic.Commands()[i]
			}
			return topic.Help()
		},
	}
}
