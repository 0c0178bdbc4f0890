package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/requires"
)

// CompareTargets tells of each target whether the old artefact ran there, and whether the new one does. A target
// without a driver is one with any; one without a GPU is any machine with that driver.
func CompareTargets(t *Tables, old, now facts.Facts, targets []Target) []requires.TargetChange {
	list := []requires.TargetChange{}
	for _, target := range targets {
		before, _ := runsOn(t, old, target)
		after, unsure := runsOn(t, now, target)
		list = append(list, requires.TargetChange{Target: target.words(), Old: before, New: after, Unknown: !after && unsure})
	}
	return list
}

func (target Target) words() string {
	words := cmp.Or(target.Instance, joinAnd(target.GPUs))
	switch {
	case target.Driver == "":
		return words
	case words == "":
		return "driver " + target.Driver
	}
	return fmt.Sprintf("%s, driver %s", words, target.Driver)
}

// runsOn reports whether an artefact runs on a target, and whether it cannot be told.
func runsOn(t *Tables, f facts.Facts, target Target) (runs, unsure bool) {
	var list []requires.GPU
	if target.named() {
		list = []requires.GPU{requiredOn(t, f, target)}
	} else {
		list = slices.DeleteFunc(Requires(t, f, target.Python).GPUs, requires.GPU.Driverless)
	}
	for _, g := range list {
		runs = runs || admits(g.Drivers, target.Driver)
		unsure = unsure || admits(g.Undecided, target.Driver)
	}
	return runs, unsure
}

// admits reports whether a driver is one of some; any is, where none is named and there is one.
func admits(drivers requires.Drivers, driver string) bool {
	return driver == "" && len(drivers) > 0 || drivers.Has(driver)
}
