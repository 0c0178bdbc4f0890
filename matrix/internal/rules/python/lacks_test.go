package python

import (
	"testing"

	"cudacompat/probe/facts"
)

// TestPatched checks that a package built for torch 2.7.0 loads beside 2.7.1. Beside another minor release, or one for
// another CUDA, the answer is unknown.
func TestPatched(t *testing.T) {
	for _, c := range []struct {
		requires, have string
		want           bool
	}{
		{"torch 2.7.0", "2.7.1", true},
		{"torch==2.7.0", "2.7.1", true},
		{"triton 3.7.0", "3.7.1", true},
		{"torch 2.7.0", "2.8.0", false},
		{"torch 2.7.0", "2.7.1+cu118", false},
		{"torch>=2.7.2,<2.8", "2.7.1", false},
		{"torch 2.7.0", "", false},
		{"numpy 2.3.1", "2.3.2", false},
		{"", "", false},
	} {
		if got := differsInPatch(facts.Lack{Of: "torchaudio", Requires: c.requires, Have: c.have}); got != c.want {
			t.Errorf("%s, there is %s: %t, want %t", c.requires, c.have, got, c.want)
		}
	}
}
