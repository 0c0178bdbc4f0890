package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/usage"

	"github.com/spf13/cobra"
)

// oneFile takes a file, or requirements.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) > 1 && inputs.AreRequirements(args) {
		return nil
	}
	if len(args) > 1 && !slices.ContainsFunc(args, inputs.Exists) {
		if pinned := inputs.FindPin(strings.Join(args, " ")); pinned != "" {
			return &usage.Error{Message: fmt.Sprintf("%s takes one file, or releases with their versions, not %q", cmd.Name(),
				inputs.Label(strings.Join(args, " "))), Hint: "did you mean " + pinned + "?"}
		}
		return &usage.Error{Message: fmt.Sprintf("%s takes one file, or releases with their versions, not %q", cmd.Name(),
			inputs.Label(strings.Join(args, " "))), Hint: "cudacompat " + cmd.Name() + " torch==2.9.0 torchvision==0.24.0"}
	}
	return &usage.Error{Message: fmt.Sprintf("%s takes one file, not %d", cmd.Name(), len(args)),
		Hint: "cudacompat " + cmd.Name() + " FILE, or - for standard input"}
}

// filesOrReleases accepts files and releases of one or more machines, or several images.
func filesOrReleases(cmd *cobra.Command, args []string) error {
	strange := func(arg string) bool { return !inputs.Exists(arg) && !inputs.IsRequirement(arg) && inputs.IsFile(arg) }
	i := slices.IndexFunc(args, strange)
	switch {
	case len(args) < 2, i >= 0 && !slices.ContainsFunc(args, inputs.Exists):
		return oneFile(cmd, args)
	case i >= 0:
		return &usage.Error{Message: fmt.Sprintf("%q is neither a file nor a release with its version", args[i]), Hint: inputs.AbsentHint}
	}
	return nil
}

// argsInTime returns an argument check that may read files, limited by --timeout.
func argsInTime(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		limit, _ := cmd.Flags().GetDuration("timeout")
		ctx, cancel := deadline.Set(cmd.Context(), max(cmp.Or(limit, deadline.Live), deadline.JudgingReserve))
		defer cancel()
		_, err := deadline.Run(ctx, func() (struct{}, error) { return struct{}{}, check(cmd, args) })
		return err
	}
}

// oneArtefact accepts what oneFile does, or nothing if flags name the environment.
func oneArtefact(cmd *cobra.Command, args []string) error {
	if inputs.AreRequirements(args) {
		return nil
	}
	return atMostOne(cmd, args)
}

// includeRootFlag adds the flag that widens the fence.
func includeRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "include-root", "", "also follow the includes of a file (-r, -c, a Dockerfile's COPY) to files below `DIR` (default: only to those below the directory of the file)")
}

// platformFlag adds --platform to a command that reads files and images.
func platformFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "",
		"judge for `PLATFORM`: linux, windows or wsl, which is WSL2 (default: what the file says, else linux); of an image for several platforms, take the one for linux/amd64 or linux/arm64 (default: that of --instance or --gpu where they tell it, else linux/amd64)")
}

// systemFlag adds --platform to a command that takes a system.
func systemFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "", "assume `PLATFORM`: linux, windows or wsl, which is WSL2 (default linux)")
}

// atMostOne accepts one argument or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	hint := "cudacompat " + cmd.Use
	if pinned := inputs.FindPin(strings.Join(args, " ")); pinned != "" && !slices.ContainsFunc(args, inputs.Exists) {
		hint = "did you mean " + pinned + "?"
	}
	return &usage.Error{Message: fmt.Sprintf("%s takes one argument, not %d", cmd.Name(), len(args)), Hint: hint}
}
