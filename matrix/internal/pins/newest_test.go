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

// TestNoTritonOnWindows checks that no set contains a wheel that does not exist.
func TestNoTritonOnWindows(t *testing.T) {
	sets := PinsWanted(tables.Embedded(), facts.Facts{System: facts.System{OS: facts.Windows}}, hardware.Target{GPUs: []string{"RTX 4090"}, Driver: "581.57"},
		[]pin.Want{{Package: "triton"}}, func(pin.Set, hardware.Target) string { return "" })
	if len(sets.Sets) > 0 || len(sets.Missing) == 0 || !strings.Contains(sets.Missing[0].Why, "triton-windows") {
		t.Errorf("%+v", sets)
	}
}
