package matrix

import (
	"context"
	"fmt"
	"slices"

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
		g, needs := requiredOn(ctx, t, f, target)
		return []requires.GPU{g}, needs
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
