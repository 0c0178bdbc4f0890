package hardware

import (
	"strings"
	"testing"

	"cudacompat/internal/tables"
)

// TestTargetsAreChecked checks that impossible values are refused with the name of their flag, and that all others are
// accepted.
func TestTargetsAreChecked(t *testing.T) {
	embedded := tables.Embedded()
	for _, target := range []Target{{}, {GPUs: []string{"L4"}}, {GPUs: []string{"8.9", "H100"}}, {Driver: "580"},
		{Driver: "535.183.01"}, {Python: "3.13t"}, {Python: "3.12.4"}} {
		if err := target.Check(embedded); err != nil {
			t.Errorf("%+v: %v", target, err)
		}
	}
	for flag, target := range map[string]Target{"--gpu L4O ": {GPUs: []string{"L4", "L4O"}}, "--gpu 8.x ": {GPUs: []string{"8.x"}},
		"--driver new ": {Driver: "new"}, "--driver 58 ": {Driver: "58"}, "--python 2.7 ": {Python: "2.7"}} {
		if err := target.Check(embedded); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%+v: %v, want an error about %s", target, err, flag)
		}
	}
}
