package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Forecaster finds out what a command would change, and what that breaks.
type Forecaster struct {
	Command     Command
	Host        *probe.Host
	Tables      *matrix.Tables
	Targets     []matrix.Target
	Policy      verdict.Policy
	Timeout     time.Duration                   // of the installer's dry run, and of all alternatives together
	LookTimeout time.Duration                   // of a look at the environment; 0 is the usual one
	Wait        func(what string) (done func()) // shows what is waited for

	Before, After State
	Forecast      Forecast

	env   string
	guess string // the environment that Before is of, as long as nothing is judged
}

// Predict works out the forecast, with an alternative if the command breaks something. It returns an error if there is no
// forecast.
func (g *Forecaster) Predict(ctx context.Context) error {
	if err := g.checkInputs(ctx); err != nil {
		return err
	}
	early := g.lookEarly(ctx)
	plan, err := g.plan(ctx, g.Command)
	if err == nil {
		g.Before.Facts, g.guess = early()
		err = g.judgeBoth(ctx, plan)
	}
	if err != nil {
		return err
	}
	g.tryInstead(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Learn looks at the environment again after the command has run, and records where the forecast was wrong.
func (g *Forecaster) Learn(ctx context.Context) {
	g.Forecast.Learn(g.Before.Verdict, g.After, g.judge(ctx, probe.Run(ctx, g.Host, g.options())))
}

// plan returns what the installer would do, from its own dry run. If the command ignores requirements, plan compares it
// with the same command that does not.
func (g *Forecaster) plan(ctx context.Context, c Command) (probe.Facts, error) {
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
	if c.Verb == "sync" && removesForGood(*plan.Plan) {
		return plan, nil // what goes is there as yet, so that the other plan does not bring it
	}
	if other, err := g.dryRun(ctx, whole); err == nil {
		plan.Plan.DiffRequirements(*other.Plan)
	}
	return plan, nil
}

// removesForGood reports whether a plan removes something without replacing it.
func removesForGood(p probe.Plan) bool {
	return slices.ContainsFunc(p.Removes, func(r probe.Planned) bool { _, comes := p.Installed(r.Name); return !comes })
}

func (g *Forecaster) dryRun(ctx context.Context, c Command) (probe.Facts, error) {
	argv, can := c.DryRun()
	if !can {
		return g.uninstallPlan(c)
	}
	limit, cancel := context.WithTimeoutCause(ctx, g.Timeout, fmt.Errorf("it took longer than %s (--timeout)", g.Timeout))
	defer cancel()
	done := g.Wait(fmt.Sprintf("guard: asking %s what it would change; nothing is installed yet", c.By))
	out, says, err := DryRun(limit, argv)
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
func (g *Forecaster) uninstallPlan(c Command) (probe.Facts, error) {
	plan := probe.Facts{Plan: &probe.Plan{By: "pip"}}
	for _, name := range c.PackageNames() {
		plan.Plan.Removes = append(plan.Plan.Removes, probe.Planned{Name: probe.PackageName(name)})
	}
	plan.Complete()
	return plan, nil
}

// judgeBoth judges the environment as it is and as the plan would leave it.
func (g *Forecaster) judgeBoth(ctx context.Context, plan probe.Facts) error {
	if g.env == "" {
		env, err := g.findEnvironment(plan.Plan.Path)
		if err != nil {
			return err
		}
		g.env = env
	}
	if g.Before.Verdict.Outcome == "" {
		if g.guess != g.env {
			g.Before.Facts = probe.Run(ctx, g.Host, g.options())
		}
		if managed := g.findManagedMark(); managed != "" {
			return fmt.Errorf("this Python belongs to the system, whose packages pip leaves alone (%s): make an environment with `python3 -m venv`", managed)
		}
		g.Before.Verdict = g.judge(ctx, g.Before.Facts)
	}
	var err error
	g.After, g.Forecast, err = g.forecastPlan(ctx, g.Command, plan)
	return err
}

// lookEarly reads the environment that the command will probably change while the installer works out the plan, which
// takes seconds and uses the network. The returned function waits for the facts and says which environment they
// describe.
func (g *Forecaster) lookEarly(ctx context.Context) func() (probe.Facts, string) {
	env, err := g.findEnvironment(findPrefix(g.Command.Python()))
	if err != nil || !probe.IsEnvironment(probe.This(), env) {
		return func() (probe.Facts, string) { return probe.Facts{}, "" }
	}
	done := make(chan probe.Facts, 1)
	go func() { done <- probe.Run(ctx, probe.This(), g.lookOptions(env)) }()
	return func() (probe.Facts, string) { return <-done, env }
}

// forecastPlan returns the guard's forecast for a plan.
func (g *Forecaster) forecastPlan(ctx context.Context, c Command, plan probe.Facts) (State, Forecast, error) {
	var after State
	second := g.options() // of files that were just read
	second.Timeout = g.Timeout
	after.Facts = probe.Forecast(ctx, g.Host, second, g.Before.Facts, plan)
	after.Verdict = g.judge(ctx, after.Facts)
	public := *matrix.RemovePrivate(g.Tables, after.Facts).Plan
	forecast := Compare(c, g.env, public, g.Before, after)
	forecast.Others = len(TouchedPackages(*after.Facts.Plan)) - len(TouchedPackages(public))
	return after, forecast, context.Cause(ctx)
}

func (g *Forecaster) options() probe.Options { return g.lookOptions(g.env) }

// lookOptions returns the options for reading an environment. --timeout limits it, too.
func (g *Forecaster) lookOptions(env string) probe.Options {
	return probe.Options{Envs: []string{env}, Timeout: g.LookTimeout}
}

func (g *Forecaster) judge(ctx context.Context, facts probe.Facts) verdict.Verdict {
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	facts.Complete()
	return matrix.Check(judging, g.Tables, facts, g.Targets, g.Policy)
}

// findManagedMark returns the marker file of an environment that the system protects from pip, unless the command overrides
// it.
func (g *Forecaster) findManagedMark() string {
	if g.Command.Into() != "" || g.Command.BreaksSystem() {
		return ""
	}
	for _, e := range g.Before.Facts.Environments {
		if e.Managed != "" {
			return e.Managed
		}
	}
	return ""
}

// tryInstead tries alternatives to a command that breaks something. It offers the first whose own dry run breaks
// nothing.
func (g *Forecaster) tryInstead(ctx context.Context) {
	if g.Forecast.Decision != Breaks {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	for _, argv := range Candidates(g.Command, g.Forecast) {
		c, err := Parse(argv)
		if err != nil {
			continue
		}
		plan, err := g.plan(ctx, c)
		if err != nil {
			continue
		}
		if _, forecast, err := g.forecastPlan(ctx, c, plan); err == nil && forecast.Decision == Fine {
			g.Forecast.Instead = &Instead{Command: argv, After: forecast.After}
			return
		}
	}
}
