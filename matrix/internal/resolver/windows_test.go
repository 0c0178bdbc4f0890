package resolver

import (
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// TestNoTritonOnWindows checks that no set contains a wheel that does not exist.
func TestNoTritonOnWindows(t *testing.T) {
	sets := PinsWanted(tables.Embedded(), facts.Facts{System: facts.System{OS: facts.Windows}}, hardware.Target{GPUs: []string{"RTX 4090"}, Driver: "581.57"},
		[]pin.Want{{Package: "triton"}}, func(pin.Set, hardware.Target) string { return "" })
	if len(sets.Sets) > 0 || len(sets.Missing) == 0 || !strings.Contains(sets.Missing[0].Why, "triton-windows") {
		t.Errorf("%+v", sets)
	}
}
