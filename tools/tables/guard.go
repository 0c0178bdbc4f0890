package main

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/tools/artefact"
)

// maxChanged is how many rows of one table a run may change. A source that contradicts more rows has probably changed
// its format.
const maxChanged = 60

// floors are the columns that say from which driver on something runs.
var floors = []string{"driver_linux", "driver_windows", "first_branch", "listed", "noted"}

// guards lists the changes that a person must read first: a lower floor, machine code that loses a target, or very many
// changed rows. New rows are safe.
func guards(changes []artefact.Change) []string {
	var stops []string
	changed := map[string]int{}
	for _, c := range changes {
		if c.Old == nil {
			continue
		}
		changed[c.Table]++
		if changed[c.Table] == maxChanged+1 {
			stops = append(stops, fmt.Sprintf("%s.csv: more than %d rows change", c.Table, maxChanged))
		}
		for _, i := range c.Differs() {
			if why := danger(c.Columns[i], c.Old[i], c.New[i]); why != "" {
				stops = append(stops, fmt.Sprintf("%s.csv: %s: %s", c.Table, strings.Join(c.Key, " "), why))
			}
		}
	}
	return stops
}

func danger(column, old, changed string) string {
	switch {
	case slices.Contains(floors, column):
		before, after := version.ParseOrZero(old), version.ParseOrZero(changed)
		if before.Known() && (!after.Known() || after.Less(before)) {
			return fmt.Sprintf("%s falls from %s to %q", column, old, changed)
		}
	case column == "sass":
		left := strings.Fields(changed)
		for _, target := range strings.Fields(old) {
			if !slices.Contains(left, target) {
				return fmt.Sprintf("%s is no longer in it", target)
			}
		}
	}
	return ""
}
