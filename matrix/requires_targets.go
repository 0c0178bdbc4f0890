package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/requires"
	"cudacompat/probe/facts"
)

// CompareTargets says for each target whether it ran the old artefact, and whether it runs the new one. A target
// without a driver is one with any driver; a target without a GPU is any machine with its driver.
func CompareTargets(ctx context.Context, t *Tables, old, now facts.Facts, targets []Target) []requires.TargetChange {
	list := []requires.TargetChange{}
	for _, target := range targets {
		was, brought := requiredFor(ctx, t, old, target)
		is, needs := requiredFor(ctx, t, now, target)
		before, _ := runsOn(was, brought, brought, target)
		after, unsure := runsOn(is, needs, brought, target)
		list = append(list, requires.TargetChange{Target: targetWords(target), Old: before, New: after, Unknown: !after && unsure})
	}
	return list
}

// targetWords formats a target.
func targetWords(target Target) string {
	words := target.Label()
	switch {
	case target.Driver == "":
		return words
	case words == "":
		return "driver " + target.Driver
	}
	return fmt.Sprintf("%s, driver %s", words, target.Driver)
}

// requiredFor computes what an artefact needs on a target, or on any, and what it leaves to the image.
func requiredFor(ctx context.Context, t *Tables, f facts.Facts, target Target) (list []requires.GPU, ofImage []string) {
	if target.Named() {
		g, limits := requiredOn(ctx, t, f, target)
		return []requires.GPU{g}, requires.Requirement{Needs: limits}.ImageNeeds()
	}
	r := Requires(ctx, t, f, target.Python)
	return slices.DeleteFunc(r.GPUs, requires.GPU.IgnoresDriver), r.ImageNeeds()
}

// runsOn reports whether the target's driver is accepted with one of the listed GPUs, and whether missing facts leave that
// open for one. needs is what the artefact needs of its image; brought is what the image brings.
func runsOn(list []requires.GPU, needs, brought []string, target Target) (runs, unsure bool) {
	for _, g := range list {
		g = g.Given(needs, brought)
		runs = runs || admits(g.Drivers, target.Driver)
		unsure = unsure || admits(g.Undecided, target.Driver)
	}
	return runs, unsure
}

// admits reports whether drivers include a driver, or include any driver if none is named.
func admits(drivers requires.Drivers, driver string) bool {
	return driver == "" && len(drivers) > 0 || drivers.Has(driver)
}

// Platforms lists the platforms that a repository can promise to support.
func Platforms() []string { return []string{"linux_x86_64", "linux_aarch64"} }

// Supports says for each target, and for each platform, whether the artefact in facts runs there, and what does not let it.
// It assumes that an image brings whatever the artefact leaves to it.
func Supports(ctx context.Context, t *Tables, f facts.Facts, targets []Target, platforms []string) []requires.Supported {
	list := []requires.Supported{}
	for _, target := range targets {
		list = append(list, supportsTarget(ctx, t, f, target))
	}
	if len(platforms) == 0 {
		return list
	}
	whole := Requires(ctx, t, f, "")
	for _, platform := range platforms {
		list = append(list, supportsPlatform(whole, platform))
	}
	return list
}

func supportsTarget(ctx context.Context, t *Tables, f facts.Facts, target Target) requires.Supported {
	s := requires.Supported{Target: targetWords(target), Because: []requires.Need{}}
	var gpus []requires.GPU
	var limits []requires.Need
	if target.Named() {
		g, of := requiredOn(ctx, t, f, target)
		gpus, limits = []requires.GPU{g}, of
	} else {
		r := Requires(ctx, t, f, target.Python)
		gpus, limits = slices.DeleteFunc(r.GPUs, requires.GPU.IgnoresDriver), r.Needs
	}
	left := requires.Requirement{Needs: limits}.ImageNeeds()
	s.Holds, s.Unknown = runsOn(gpus, left, left, target)
	s.Unknown = !s.Holds && (s.Unknown || ctx.Err() != nil)
	for _, n := range limits {
		met := len(n.Drivers) > 0 && target.Driver == "" || n.Drivers.Has(target.Driver)
		applies := slices.ContainsFunc(gpus, func(g requires.GPU) bool {
			return n.HoldsFor(g.Capability, strings.Join(g.Names[:min(1, len(g.Names))], "")) // a generic GPU has no name
		})
		if !s.Holds && !met && applies && (n.Missing != "") == s.Unknown {
			s.Because = append(s.Because, n)
		}
	}
	return s
}

// supportsPlatform says whether some GPU of a platform's hosts runs an artefact.
func supportsPlatform(r requires.Requirement, platform string) requires.Supported {
	s := requires.Supported{Target: platform, Because: []requires.Need{}}
	left := r.ImageNeeds()
	for _, g := range r.GPUs {
		if g = g.Given(left, left); "linux_"+g.Arch == platform && !g.IgnoresDriver() {
			s.Holds = s.Holds || len(g.Drivers) > 0
			s.Unknown = s.Unknown || len(g.Undecided) > 0
		}
	}
	s.Unknown = !s.Holds && (s.Unknown || len(r.Unknown) > 0)
	for _, n := range r.Needs {
		if !s.Holds && n.Subject != "" && len(n.Drivers) == 0 && (n.Missing != "") == s.Unknown {
			s.Because = append(s.Because, n)
		}
	}
	return s
}
