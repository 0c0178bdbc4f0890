package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/usage"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError rewords pflag's errors.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &lacking):
		return &usage.Error{Message: withDashes(lacking.GetSpecifiedName()) + " needs a value", Hint: usageOf(lacking.GetFlag())}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return &usage.Error{
			Message: fmt.Sprintf("--%s %q is not a %s", f.Name, invalid.GetValue(), kindOf(f)),
			Hint:    usageOf(f),
		}
	}
	return &usage.Error{Message: err.Error(), Hint: cmd.CommandPath() + " --help"}
}

func withDashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// usageOf returns a flag's help line: "--driver VERSION: judge for this driver VERSION …".
func usageOf(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--"+f.Name+" "+value) + ": " + strings.TrimPrefix(text, value+": ")
}

// kindOf says in words what pflag expects as a flag's value.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "length of time such as 30s or 2m"
	case "bool":
		return "truth value (true or false)"
	case "stringSlice":
		return "list with commas between its words"
	}
	return f.Value.Type()
}

// unknownFlag returns the error for a flag that the command does not have: it is misspelt, or belongs to another
// command.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	flag := withDashes(err.GetSpecifiedName())
	e := &usage.Error{Message: fmt.Sprintf("%s has no flag %q", cmd.Name(), flag)}
	if !cmd.HasParent() {
		e.Message = fmt.Sprintf("there is no flag %q before the command", flag)
	}
	root := newRoot(streams{}) // with every command
	switch owners := ownersOf(root, err.GetSpecifiedName()); {
	case flagElsewhere(cmd, err.GetSpecifiedName()) != "":
		e.Hint = flagElsewhere(cmd, err.GetSpecifiedName())
	case slices.Contains(commandNames(root), err.GetSpecifiedName()):
		e.Hint = "did you mean cudacompat " + err.GetSpecifiedName() + "?"
	case len(owners) > 0:
		e.Hint = flag + " belongs to " + strings.Join(owners, ", ")
	case usage.FindNearest(flag, flagNames(cmd)) != "" || len(usage.FindCompletions(flag, flagNames(cmd))) > 0:
		e.Hint = usage.Suggest(flag, flagNames(cmd))
	default:
		e.Hint = cmd.CommandPath() + " --help"
	}
	return e
}

// flagElsewhere returns what a command has instead of a flag of other programs.
func flagElsewhere(cmd *cobra.Command, name string) string {
	formats := cmd.Flags().Lookup("output")
	switch name {
	case "json", "sarif", "junit", "markdown":
		if formats != nil {
			return "did you mean -o " + name + "?"
		}
		return cmd.Name() + " has one form of output: see " + cmd.CommandPath() + " --help"
	case "format", "output-format", "fmt":
		if formats != nil {
			return "did you mean -o FORMAT? " + usageOf(formats)
		}
	case "q", "quiet", "s", "silent":
		if cmd.Flags().Lookup("healthcheck") != nil {
			return "-o line prints one line, --healthcheck one for a health check; the exit code tells by itself: >/dev/null"
		}
		return "the exit code tells by itself: >/dev/null"
	case "o", "output":
		if formats == nil {
			return cmd.Name() + " has one form of output: leave -o out"
		}
	}
	return ""
}

// ownersOf returns the commands that have a flag.
func ownersOf(root *cobra.Command, name string) []string {
	var list []string
	for _, c := range root.Commands() {
		if c.Flags().Lookup(name) != nil || len(name) == 1 && c.Flags().ShorthandLookup(name) != nil {
			list = append(list, c.Name())
		}
	}
	return list
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	slices.Sort(names)
	return names
}
