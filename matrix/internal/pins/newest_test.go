package pins

import (
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// TestNewestNamesTheFault checks that a set names the newer release that it leaves out.
func TestNewestNamesTheFault(t *testing.T) {
	sets := Pins(tables.Embedded(), facts.Facts{}, hardware.Target{GPUs: []string{"RTX 4090"}, Driver: "550.90.07"}, pin.Wanted{Framework: "tensorflow"})
	i := slices.IndexFunc(sets.Sets, func(s pin.Set) bool { return s.Choice == pin.Newest })
	if i < 0 || sets.Sets[i].Packages[0].Version != "2.20.0" || !strings.Contains(sets.Sets[i].Why, "without the known fault of 2.21.0") {
		t.Errorf("%+v", sets.Sets)
	}
}
