package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cudacompat/internal/inputs"
	"cudacompat/internal/usage"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// activeName stands for the environment that python3 starts here.
const activeName = "active"

// factsAfterPlan returns the facts of this machine after a plan changes one environment. If the plan was not read in
// time, the environment is unknown. Each of the two reads may take the whole limit; ctx bounds both together.
func factsAfterPlan(ctx context.Context, plan probe.Facts, env, file string, limit time.Duration) (probe.Facts, error) {
	if plan.Plan == nil && slices.ContainsFunc(plan.Unread, func(u facts.Unread) bool { return u.Kind == facts.UnreadCut }) {
		return plan, nil
	}
	if plan.Plan == nil {
		return probe.Facts{}, &usage.Error{Message: fmt.Sprintf("--env: %q says what is there, not what an installer would change",
			inputs.Label(file)), Hint: "give what `uv pip install --dry-run` or `pip install --dry-run` prints, or pip's --report"}
	}
	if inPage {
		return probe.Facts{}, errInPage
	}
	look, h, err := lookAt(ctx, env)
	if err != nil {
		return probe.Facts{}, err
	}
	look.timeout = limit
	before := probe.Run(ctx, h, look.options())
	return probe.Forecast(ctx, h, look.options(), before, plan), nil
}

// lookAt returns one environment of this machine.
func lookAt(ctx context.Context, env string) (lookFlags, *probe.Host, error) {
	look := lookFlags{envs: []string{env}}
	if env == activeName {
		look.envs = nil
	}
	h, err := look.host(ctx)
	if err != nil || env != activeName {
		return look, h, err
	}
	active := probe.ActiveEnvironment(h)
	if active == "" {
		return look, h, &usage.Error{Message: "no Python environment is active here", Hint: "give its directory: --env PATH"}
	}
	look.envs = []string{active}
	return look, h, nil
}
