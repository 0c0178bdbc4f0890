package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/redact"
	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"

	"github.com/spf13/cobra"
)

// streams are the inputs and outputs of a run. Findings go to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes, decided only here; -o nagios uses its protocol's (formats.NagiosState). Codes 2, 126 to 128 and 194
// are never used: they mean Go's panic, Docker's reserved code, the shells' codes and the AMI builder's reboot.
const (
	exitOK           = 0  // nothing wrong
	exitIncompatible = 1  // a finding at or above --fail-on
	exitInconclusive = 3  // nothing proven wrong, a fact that matters is missing
	exitUsage        = 64 // flags, configuration, or a named file that cannot be read (EX_USAGE of sysexits.h)
	exitInternal     = 70 // a bug in cudacompat (EX_SOFTWARE)
)

// exitError carries an exit code through cobra.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// runWithin runs the whole program and returns its exit code. It never exits and never panics. It reads and judges no
// longer than ctx lasts.
func runWithin(ctx context.Context, args []string, s streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(s.err, "cudacompat: a bug in cudacompat: %s\n%s", redact.Redact(fmt.Sprint(r)), debug.Stack())
			code = exitInternal
		}
	}()
	if err := s.readTerminal(args); err != nil {
		return exitCode(&usage.Error{Message: "cannot read standard input: " + err.Error(), Hint: ""}, s)
	}
	root := newRoot(s, args...)
	help := &remembering{to: s.out}
	root.SetOut(help)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil && help.failed != nil && !slices.Contains(args, "--healthcheck") {
		err = fmt.Errorf("cannot write the help: %w", help.failed)
	}
	return reportError(err, args, s)
}

// reportError says what is wrong and returns the exit code for the error of a command.
func reportError(err error, args []string, s streams) int {
	if slices.Contains(args, "--healthcheck") {
		return healthCode(err, args, s.out)
	}
	return exitCode(err, s)
}

// readTerminal reads what a person pastes, if an argument is - and standard input is a terminal. It prompts, ends at
// the first Ctrl-D, and does not count towards --timeout. guard's installer reads the terminal itself.
func (s *streams) readTerminal(args []string) error {
	if len(args) == 0 || args[0] == "guard" || !slices.Contains(args, "-") || !terminal.IsTerminal(s.in) {
		return nil
	}
	fmt.Fprintln(s.err, "paste, then press Enter and Ctrl-D")
	text, err := io.ReadAll(io.LimitReader(s.in, inputs.MaxFile+1))
	s.in = bytes.NewReader(text)
	return err
}

// remembering is a writer that keeps its first error, because cobra ignores errors when it writes help.
type remembering struct {
	to     io.Writer
	failed error
}

func (r *remembering) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if r.failed == nil {
		r.failed = err
	}
	return n, err
}

// TerminalWidth returns the width of the terminal that the writer leads to, or 0.
func (r *remembering) TerminalWidth() int { return terminal.Width(r.to) }

// healthCode returns 0 or 1, Docker's codes. A mistake in the command is unhealthy, and its line says so.
func healthCode(err error, args []string, out io.Writer) int {
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, new(*deadline.Error)):
		_ = formats.WriteUnknownLine(out, redact.Line(deadline.Describe(err)))
		return unknownHealth(args)
	}
	_ = formats.WriteUsageLine(out, redact.Line(err.Error()))
	return exitIncompatible
}

// unknownHealth returns the exit code of a health check without a result: 1 if --require names something, because it
// was not seen.
func unknownHealth(args []string) int {
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--require") }) {
		return exitIncompatible
	}
	return exitOK
}

func exitCode(err error, s streams) int {
	var exit exitError
	var mistake *usage.Error
	var late *deadline.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, output.ErrNothingWritten): // which has been said
		return exitInconclusive
	case errors.As(err, &mistake):
		terminal.Complain(s.err, mistake.Message, mistake.Hint)
	case errors.As(err, &late):
		terminal.Complain(s.err, deadline.Describe(err), cmp.Or(late.Hint, "give more --timeout"))
		return exitInconclusive
	default:
		terminal.Complain(s.err, err.Error(), "")
	}
	return exitUsage
}

// newRoot returns the command tree. If the first argument names a command, it builds only that one, because building
// all with their flags takes a fifth of a millisecond.
func newRoot(s streams, args ...string) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "cudacompat",
		Short: "Tells whether the CUDA stack of this machine will work, and what to install if not",
		Long:  "cudacompat tells you whether the CUDA stack of a machine, a container or a machine image will work, and if not, what to install instead. It only reads, and needs neither root nor a network.",
		Example: "  cudacompat doctor\n" +
			"  cudacompat doctor --instance g5.xlarge --driver " + report.ExampleDriver + "\n" +
			"  cudacompat check requirements.txt --gpu L4 --driver 535.183.01\n" +
			"  cudacompat explain train.log",
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case version:
				return sayVersion(cmd.Context(), s, tablesFlag{})
			case len(args) == 0:
				return cmd.Help()
			}
			if inputs.Exists(args[0]) {
				return &usage.Error{Message: fmt.Sprintf("%q is not a known command", args[0]), Hint: "did you mean cudacompat " + commandForFile(args[0]) + "?"}
			}
			return usage.RejectUnknown("command", args[0], commandNames(cmd))
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.Flags().BoolVar(&version, "version", false, "say the same as the command version")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(showHelp)
	root.SetHelpCommand(helpCommand())
	type made = func(streams) *cobra.Command
	commands := map[string]made{"doctor": doctorCommand, "probe": probeCommand, "check": checkCommand,
		"explain": explainCommand, "matrix": matrixCommand, "pins": pinsCommand, "requires": requiresCommand,
		"fleet": fleetCommand, "guard": guardCommand, "schema": schemaCommand, "version": versionCommand, "completion": completionCommand}
	if len(args) > 0 && commands[args[0]] != nil {
		commands = map[string]made{args[0]: commands[args[0]]}
	}
	for _, command := range commands {
		root.AddCommand(command(s))
	}
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		completeValues(root)
	}
	return root
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// exitFor returns the exit code for an outcome under --fail-on, which changes the code and never the outcome. If a
// monitor reads standard output, the codes are those of its protocol.
func exitFor(v verdict.Verdict, failOn string, o output.Set[report.Report]) error {
	if o.IsReadByMonitor() {
		return exitError(formats.FindNagiosState(v))
	}
	wrong := v.Outcome == verdict.Incompatible && failOn != "never" || failOn == "warning" && v.Count(verdict.Warning) > 0
	switch {
	case wrong:
		return exitError(exitIncompatible)
	case v.Outcome == verdict.Inconclusive:
		return exitError(exitInconclusive)
	}
	return nil
}

// exitForHealth returns Docker's exit code. Only a proven error is unhealthy, and a required thing that could not be
// seen.
func exitForHealth(v verdict.Verdict, required bool) error {
	if v.Outcome == verdict.Incompatible || v.Outcome == verdict.Inconclusive && required {
		return exitError(exitIncompatible)
	}
	return nil
}

// commandForFile returns the command that reads a file, by the file's name.
func commandForFile(name string) string {
	command := "explain"
	switch base := filepath.Base(name); {
	case slices.Contains([]string{".toml", ".lock", ".yml", ".yaml"}, filepath.Ext(base)), strings.HasPrefix(base, "req"),
		strings.Contains(base, "Dockerfile"):
		command = "check"
	}
	return command + " " + pin.Word(name)
}
