package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/guard"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
)

// guardFlags are the flags before the installer's command.
type guardFlags struct {
	judgeFlags
	yes, dryRun bool
	timeout     time.Duration
}

func guardCommand(s streams) *cobra.Command {
	var f guardFlags
	cmd := &cobra.Command{
		Use:   "guard [flags] -- COMMAND",
		Short: "Check what pip or uv is about to install; run it if it is safe, else suggest what to install instead",
		Long:  "Runs the installer's own dry run, judges the environment before and after the change, and prints what breaks and what is fixed. If something breaks, nothing is installed, and the same command with pins that pass is offered. If nothing does, the command is run as typed, without a shell, and its exit code is handed through; afterwards the environment is looked at again. If it cannot be determined, guard asks, or stops where nobody can answer.\n\nThe command is run twice, as a dry run first, so it must read the same both times. guard refuses requirements that can be read only once: `-r -`, `-r /dev/stdin`, `-r <(...)`, a named pipe, and files that include these. The command gets your terminal as its standard input; if that is not a terminal, it is empty for every command except uninstall, which asks before it removes anything.\n\nUnderstood are " + guard.Forms + ".\n\nguard itself opens no connection; the installer does, with its own settings. A dry run changes no environment, but it fills the installer's cache and can run the build program of a package that comes as a source; `--only-binary :all:` avoids that.",
		Example: "  cudacompat guard -- uv pip install vllm\n" +
			"  cudacompat guard --gpu L4 -- pip install -r requirements.txt\n" +
			"  cudacompat guard --dry-run -o json -- uv sync",
		Annotations: map[string]string{exitNote: "0 fine and done, or --dry-run found nothing that breaks · 1 something would break: nothing was installed · 3 it cannot be determined, or there is no plan: nothing was installed · the installer's own code, whatever it is, once it has run · 128 and the signal where it was interrupted · " + exitOwn},
		Args:        afterDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := f.guard(cmd.Context(), s, args)
			if err == nil && code != exitOK {
				err = exitError(code)
			}
			return err
		},
	}
	f.given = cmd.Flags().Changed
	f.failOn = "error"
	flags := cmd.Flags()
	flags.StringVar(&f.driver, "driver", "", "assume driver `VERSION`")
	flags.StringSliceVar(&f.gpus, "gpu", nil,
		gpusUsage+"guard takes one machine")
	flags.StringSliceVar(&f.instances, "instance", nil,
		"assume instance `TYPE`, such as g5.xlarge (EC2 and other clouds)")
	flags.StringVar(&f.python, "python", "", "assume Python `VERSION`")
	flags.StringArrayVar(&f.ignore, "ignore", nil,
		"let findings of `RULE` pass; they stay in the report (may be repeated)")
	flags.StringVar(&f.config, "config", "", "read settings such as --ignore from `FILE` (default $CUDACOMPAT_CONFIG, then ./"+config.Name+", then /etc/cudacompat/"+config.Name+")")
	f.tablesFlag.add(cmd)
	flags.BoolVar(&f.yes, "yes", false, "run the command even if it cannot be determined whether it breaks something")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would happen and never run the command")
	flags.DurationVar(&f.timeout, "timeout", guard.DryRunLimit, "stop the installer's dry run, and a look at the environment, after `TIME`")
	flags.StringArrayVarP(&f.formats, "output", "o", nil, outputUsage(output.ListNames(plaintext.GuardFormats))+
		"; what the installer prints goes to standard error then")
	addColour(cmd, &f.colour)
	return cmd
}

// afterDash accepts a command after "--", so that its flags are its own.
func afterDash(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() == 0 {
		return nil
	}
	return &usage.Error{Message: "guard takes the installer's command behind --", Hint: "cudacompat guard -- uv pip install vllm"}
}

// nothingInstalled is printed whenever the installer was not run, so that guard's exit code 1 differs from the
// installer's.
const nothingInstalled = "guard: nothing was installed"

// guard runs all steps. The exit code is guard's own or the installer's.
func (f *guardFlags) guard(ctx context.Context, s streams, argv []string) (code int, err error) {
	signals := guard.EndSignals()
	ctx, stop := untilStopped(ctx, signals)
	defer stop()
	command, err := guard.Parse(argv)
	if err != nil {
		return 0, &usage.Error{Message: err.Error(), Hint: "guard understands " + guard.Forms}
	}
	if err := inputs.RejectSeveralMachines("guard", f.instances, f.gpus); err != nil {
		return 0, err
	}
	g, err := f.prepareGuard(ctx, s, command)
	if err != nil {
		return 0, err
	}
	g.signals = signals
	if err := g.checkInputs(ctx); err != nil {
		return g.without(err)
	}
	early := g.lookEarly(ctx)
	plan, err := g.plan(ctx, command)
	if err == nil {
		g.before.Facts, g.guess = early()
		err = g.look(ctx, plan)
	}
	if err != nil {
		return g.without(err)
	}
	g.tryInstead(ctx)
	if ctx.Err() != nil {
		return g.without(context.Cause(ctx))
	}
	return g.act(ctx, stop)
}

// guarding is the state of one guarded command.
type guarding struct {
	job
	f        *guardFlags
	s        streams
	signals  <-chan os.Signal // those that ask for the end
	command  guard.Command
	outputs  output.Set[guard.Forecast]
	host     *probe.Host
	env      string
	guess    string // the environment that before is of, as long as nothing is judged
	before   guard.State
	after    guard.State
	forecast guard.Forecast
}

func (f *guardFlags) prepareGuard(ctx context.Context, s streams, c guard.Command) (*guarding, error) {
	formats := f.formats
	outputs, err := output.Parse(plaintext.GuardFormats, formats, f.colour, false, s.out, s.err)
	if err != nil {
		return nil, err
	}
	f.formats = nil
	job, err := f.prepare(ctx, s)
	return &guarding{job: job, f: f, s: s, command: c, outputs: outputs, host: probe.This()}, err
}

// without ends the run if there is no forecast.
func (g *guarding) without(err error) (int, error) {
	if mistake := new(usage.Error); errors.As(err, &mistake) {
		return 0, err
	}
	terminal.Complain(g.s.err, err.Error(), "")
	fmt.Fprintln(g.s.err, nothingInstalled)
	if s := stopped(0); errors.As(err, &s) {
		return s.exit(), nil
	}
	return exitInconclusive, nil
}

// stopped is the end of a run by a signal: Ctrl-C, SIGTERM, or a closed terminal.
type stopped syscall.Signal

func (s stopped) Error() string { return "interrupted" }

// exit returns the exit code that shells use for the signal: 130 for Ctrl-C.
func (s stopped) exit() int { return 128 + int(s) }

// untilStopped returns a context that ends with the first of the signals, which becomes its cause.
func untilStopped(parent context.Context, signals <-chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case s := <-signals:
			cancel(stopped(s.(syscall.Signal)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// plan returns what the installer would do, from its own dry run. If the command ignores requirements, plan compares it
// with the same command that does not.
func (g *guarding) plan(ctx context.Context, c guard.Command) (probe.Facts, error) {
	plan, err := g.dryRun(ctx, c)
	if err != nil {
		return plan, err
	}
	plan.Plan.NoDeps = "" // what its words alone leave open, the command tells
	whole, bare := c.Bare()
	if !bare {
		return plan, nil
	}
	plan.Plan.NoDeps = facts.NoDepsYes
	if c.Verb == "sync" && goesForGood(*plan.Plan) {
		return plan, nil // what goes is there as yet, so that the other plan does not bring it
	}
	if other, err := g.dryRun(ctx, whole); err == nil {
		plan.Plan.DiffRequirements(*other.Plan)
	}
	return plan, nil
}

// goesForGood reports whether a plan removes something without replacing it.
func goesForGood(p probe.Plan) bool {
	return slices.ContainsFunc(p.Removes, func(r probe.Planned) bool { _, comes := p.Installed(r.Name); return !comes })
}

func (g *guarding) dryRun(ctx context.Context, c guard.Command) (probe.Facts, error) {
	argv, can := c.DryRun()
	if !can {
		return g.uninstallPlan(c)
	}
	limit, cancel := context.WithTimeoutCause(ctx, g.f.timeout, fmt.Errorf("it took longer than %s (--timeout)", g.f.timeout))
	defer cancel()
	done := terminal.ShowWaiting(g.s.err, fmt.Sprintf("guard: asking %s what it would change; nothing is installed yet", c.By))
	out, says, err := guard.DryRun(limit, argv)
	done()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return probe.Facts{}, err
	}
	plan, err := deadline.Run(limit, func() (probe.Facts, error) {
		plan, err := probe.Given(append(out, says...))
		if err != nil && c.By == "pip" {
			plan, err = probe.Given(out)
		}
		return plan, err
	})
	late := new(deadline.Error)
	switch {
	case errors.As(err, &late) && ctx.Err() != nil:
		return plan, context.Cause(ctx)
	case errors.As(err, &late):
		return plan, fmt.Errorf("what the dry run of %s printed was not read to its end: %w", c.Argv[0], late)
	case err != nil && !errors.Is(err, probe.ErrForeign):
		return plan, fmt.Errorf("what the dry run of %s printed cannot be read: %w", c.Argv[0], err)
	case err != nil || plan.Plan == nil:
		return plan, fmt.Errorf("what the dry run of %s printed is not a plan that is understood", c.Argv[0])
	}
	return plan, nil
}

// uninstallPlan returns the plan of pip uninstall, which has no dry run: the named packages are removed.
func (g *guarding) uninstallPlan(c guard.Command) (probe.Facts, error) {
	plan := probe.Facts{Plan: &probe.Plan{By: "pip"}}
	for _, name := range c.PackageNames() {
		plan.Plan.Removes = append(plan.Plan.Removes, probe.Planned{Name: probe.PackageName(name)})
	}
	plan.Complete()
	return plan, nil
}

// look judges the environment as it is and as the plan would leave it.
func (g *guarding) look(ctx context.Context, plan probe.Facts) error {
	if g.env == "" {
		env, err := g.environment(plan.Plan.Path)
		if err != nil {
			return err
		}
		g.env = env
	}
	if g.before.Verdict.Outcome == "" {
		if g.guess != g.env {
			g.before.Facts = probe.Run(ctx, g.host, g.options())
		}
		if managed := g.managedMark(); managed != "" {
			return fmt.Errorf("this Python belongs to the system, whose packages pip leaves alone (%s): make an environment with `python3 -m venv`", managed)
		}
		g.before.Verdict = g.verdict(ctx, g.before.Facts)
	}
	var err error
	g.after, g.forecast, err = g.forecastPlan(ctx, g.command, plan)
	return err
}

// lookEarly reads the environment that the command will probably change while the installer works out the plan, which
// takes seconds and uses the network. The returned function waits for the facts and says which environment they
// describe.
func (g *guarding) lookEarly(ctx context.Context) func() (probe.Facts, string) {
	env, err := g.environment(prefixOf(g.command.Python()))
	if err != nil || !probe.IsEnvironment(probe.This(), env) {
		return func() (probe.Facts, string) { return probe.Facts{}, "" }
	}
	done := make(chan probe.Facts, 1)
	go func() { done <- probe.Run(ctx, probe.This(), g.looking(env)) }()
	return func() (probe.Facts, string) { return <-done, env }
}

// prefixOf returns the environment of an interpreter in its bin directory, otherwise the name unchanged. For a version
// it returns "".
func prefixOf(python string) string {
	dir, name := filepath.Split(python)
	switch {
	case strings.HasPrefix(name, "python") && filepath.Base(dir) == "bin":
		return filepath.Dir(filepath.Clean(dir))
	case strings.Contains(python, "/"):
		return python
	}
	return ""
}

// forecastPlan returns the guard's forecast for a plan.
func (g *guarding) forecastPlan(ctx context.Context, c guard.Command, plan probe.Facts) (guard.State, guard.Forecast, error) {
	var after guard.State
	second := g.options() // of files that were just read
	second.Timeout = g.f.timeout
	after.Facts = probe.Forecast(ctx, g.host, second, g.before.Facts, plan)
	after.Verdict = g.verdict(ctx, after.Facts)
	public := *matrix.RemovePrivate(g.tables, after.Facts).Plan
	forecast := guard.Compare(c, g.env, public, g.before, after)
	forecast.Configuration = g.config.DescribeEffect(after.Verdict, false)
	forecast.Others = len(guard.TouchedPackages(*after.Facts.Plan)) - len(guard.TouchedPackages(public))
	return after, forecast, context.Cause(ctx)
}

func (g *guarding) options() probe.Options { return g.looking(g.env) }

// looking returns the options for reading an environment. --timeout limits it, too.
func (g *guarding) looking(env string) probe.Options {
	o := probe.Options{Envs: []string{env}}
	if g.f.given("timeout") {
		o.Timeout = g.f.timeout
	}
	return o
}

func (g *guarding) verdict(ctx context.Context, facts probe.Facts) verdict.Verdict {
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	facts.Complete()
	return matrix.Check(judging, g.tables, facts, g.targets, g.policy)
}

// managedMark returns the marker file of an environment that the system protects from pip, unless the command overrides
// it.
func (g *guarding) managedMark() string {
	if g.command.Into() != "" || g.command.BreaksSystem() {
		return ""
	}
	for _, e := range g.before.Facts.Environments {
		if e.Managed != "" {
			return e.Managed
		}
	}
	return ""
}

// environment returns where the command installs: what the command says, otherwise what its dry run says, otherwise
// what its program would find.
func (g *guarding) environment(said string) (string, error) {
	c := g.command
	settings := guardSettings(g.host, c)
	where, dir := c.Destination(settings), c.WorkingDir(settings)
	from := func(path string) (string, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return filepath.Abs(path)
	}
	switch {
	case where.Unknown != "":
		return "", fmt.Errorf("it cannot be determined which environment the command changes: %s decides; name it on the command line", where.Unknown)
	case c.Into() != "" || where.Into != "":
		return from(cmp.Or(c.Into(), where.Into))
	case where.Python != "":
		return from(where.Python)
	case said != "":
		return from(said)
	case c.By == "pip" && c.Python() != "":
		return from(c.Python())
	case c.By == "pip":
		return pythonOf(c.Argv[0])
	case prefixOf(c.Python()) != "":
		return from(prefixOf(c.Python()))
	}
	if c.By == "uv" {
		return "", errors.New("it cannot be determined which environment the command changes: uv does not say which is the project's")
	}
	if dir != settings.Dir && settings.Getenv("VIRTUAL_ENV")+settings.Getenv("CONDA_PREFIX") == "" {
		if env := environmentAbove(g.host, dir); env != "" {
			return env, nil
		}
	} else if env := probe.ActiveEnvironment(g.host); env != "" {
		return env, nil
	}
	return "", errors.New("it cannot be determined which environment the command changes: name it with --python")
}

// environmentAbove returns the .venv of a directory or of its nearest parent that has one, as uv does.
func environmentAbove(h *probe.Host, dir string) string {
	for {
		if env := filepath.Join(dir, ".venv"); probe.IsEnvironment(h, env) {
			return env
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// guardSettings returns the settings that an installer finds here.
func guardSettings(h *probe.Host, c guard.Command) guard.Settings {
	dir, _ := os.Getwd()
	s := guard.Settings{Getenv: settingOf(os.Environ()), Dir: dir, Read: func(file string) []byte {
		data, _ := h.ReadFile(file)
		return data
	}}
	if c.By == "pip" {
		s.Prefix = pipPrefix(h, c)
	}
	return s
}

// pipPrefix returns sys.prefix of the Python that runs pip: the environment with a pyvenv.cfg, otherwise the directory
// that the interpreter's link leads to.
func pipPrefix(h *probe.Host, c guard.Command) string {
	python := c.Python()
	if probe.IsEnvironment(h, python) {
		return python
	}
	if python == "" {
		python, _ = pythonOf(c.Argv[0])
	}
	if python == "" {
		return ""
	}
	bin := filepath.Dir(python)
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		if _, err := h.ReadFile(filepath.Join(dir, "pyvenv.cfg")); err == nil {
			return filepath.Dir(bin)
		}
	}
	if real, err := filepath.EvalSymlinks(python); err == nil {
		bin = filepath.Dir(real)
	}
	return filepath.Dir(bin)
}

// settingOf returns a lookup in the variables. pip ignores the case of the letters after PIP_, so PIP_Target is
// PIP_TARGET.
func settingOf(environ []string) func(name string) string {
	return func(name string) string {
		found := ""
		for _, variable := range environ {
			key, value, _ := strings.Cut(variable, "=")
			if key == name || strings.HasPrefix(key, "PIP_") && strings.EqualFold(key, name) && value != "" {
				found = value
			}
		}
		return found
	}
}

// pythonOf returns the interpreter of a pip: the program itself, the one on its first line, or the one beside it.
func pythonOf(program string) (string, error) {
	found, err := exec.LookPath(program)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", fmt.Errorf("%s is not on PATH", program)
	}
	if strings.HasPrefix(filepath.Base(found), "python") {
		return found, nil
	}
	if info, err := os.Stat(found); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return "", fmt.Errorf("%s is not a program", found)
	}
	if file, err := os.Open(found); err == nil {
		defer file.Close()
		line, _ := bufio.NewReader(io.LimitReader(file, 512)).ReadString('\n')
		interpreter := strings.TrimSpace(strings.TrimPrefix(line, "#!"))
		if filepath.IsAbs(interpreter) && strings.HasPrefix(filepath.Base(interpreter), "python") {
			return interpreter, nil
		}
	}
	return filepath.Join(filepath.Dir(found), "python3"), nil
}

// tryInstead tries alternatives to a command that breaks something. It offers the first whose own dry run breaks
// nothing.
func (g *guarding) tryInstead(ctx context.Context) {
	if g.forecast.Decision != guard.Breaks {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.f.timeout)
	defer cancel()
	for _, argv := range guard.Candidates(g.command, g.forecast) {
		c, err := guard.Parse(argv)
		if err != nil {
			continue
		}
		plan, err := g.plan(ctx, c)
		if err != nil {
			continue
		}
		if _, forecast, err := g.forecastPlan(ctx, c, plan); err == nil && forecast.Decision == guard.Fine {
			g.forecast.Instead = &guard.Instead{Command: argv, After: forecast.After}
			return
		}
	}
}

// act prints the forecast and runs the command or not. The installer then has the terminal and receives Ctrl-C.
func (g *guarding) act(ctx context.Context, stop context.CancelFunc) (int, error) {
	stops := g.stops()
	if stops != nil {
		g.forecast.Exit = *stops
	}
	if !g.outputs.HasJSON() || stops != nil {
		if err := g.outputs.Write(ctx, g.forecast); err != nil {
			return 0, err
		}
	}
	if stops == nil && g.forecast.Decision == guard.Unclear && !g.f.yes && !g.askConsent(ctx) {
		no := exitInconclusive
		stops = &no
	}
	if ctx.Err() != nil {
		return g.without(context.Cause(ctx))
	}
	if stops != nil {
		fmt.Fprintln(g.s.err, nothingInstalled)
		if g.forecast.Decision == guard.Unclear && !g.f.dryRun {
			fmt.Fprintln(g.s.err, g.unclearHint())
		}
		return *stops, nil
	}
	stop()
	return g.run()
}

// stops returns the exit code with which guard ends before running the installer, or nil if it continues.
func (g *guarding) stops() *int {
	code := map[guard.Decision]int{guard.Fine: exitOK, guard.Breaks: exitIncompatible, guard.Unclear: exitInconclusive}
	own := code[g.forecast.Decision]
	asks := g.forecast.Decision == guard.Unclear && (g.f.yes || terminal.IsTerminal(g.s.in) && terminal.IsTerminal(g.s.err))
	if g.f.dryRun || own != exitOK && !asks {
		return &own
	}
	return nil
}

func (g *guarding) unclearHint() string {
	if slices.ContainsFunc(g.after.Verdict.Judged, func(j verdict.Judged) bool { return len(j.GPUs) == 0 }) {
		return "hint: name the machine that it is for: --driver VERSION --gpu NAME, or --instance TYPE; --yes installs anyway"
	}
	return "hint: --yes installs anyway"
}

// askConsent asks on the terminal. It reads only the answer, because what follows is for the installer.
func (g *guarding) askConsent(ctx context.Context) bool {
	fmt.Fprint(g.s.err, "install anyway? [y/N] ")
	answer, err := deadline.Run(ctx, func() (string, error) { return lineOf(g.s.in), nil })
	if err != nil {
		fmt.Fprintln(g.s.err)
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

// lineOf reads one line, byte by byte.
func lineOf(in io.Reader) string {
	var line []byte
	for one := make([]byte, 1); len(line) < 100; {
		n, err := in.Read(one)
		if n > 0 && one[0] != '\n' {
			line = append(line, one[0])
			continue
		}
		if n > 0 || err != nil {
			break
		}
	}
	return string(line)
}

// run runs the command as it was typed, and reads the environment again.
func (g *guarding) run() (int, error) {
	out := g.s.out
	if g.outputs.HasJSON() {
		out = g.s.err
	}
	in := g.s.in
	if g.command.Verb != "uninstall" && !terminal.IsTerminal(in) {
		in = nil // as for the dry run: a requirements file can include standard input
	}
	code, err := guard.Run(g.command.Argv, g.signals, in, out, g.s.err)
	if err != nil {
		return g.without(err)
	}
	g.forecast.Ran, g.forecast.Exit = true, code
	ctx, stop := untilStopped(context.Background(), g.signals)
	defer stop()
	g.forecast.Learn(g.before.Verdict, g.after, g.verdict(ctx, probe.Run(ctx, g.host, g.options())))
	if s := stopped(0); errors.As(context.Cause(ctx), &s) {
		fmt.Fprintf(g.s.err, "guard: interrupted: %s has ended with exit code %d, and what it did was not looked at\n",
			g.command.Argv[0], code)
		return s.exit(), nil
	}
	if g.outputs.HasJSON() {
		return code, g.outputs.Write(context.Background(), g.forecast)
	}
	return code, plaintext.WriteGuardDifferences(g.s.err, g.forecast)
}
