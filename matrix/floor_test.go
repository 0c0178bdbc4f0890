package matrix

import (
	"testing"

	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
)

// TestFloorIsPrintedAlike: the branch that CUDA 13 needs is written as the first driver that came with it, by the rules,
// which read it from the tables, and by a requirement, which is read without them.
func TestFloorIsPrintedAlike(t *testing.T) {
	need, least, _ := Embedded().Floor(version.ParseOrZero("13.0"), false)
	if got := "driver " + (requires.Range{From: least.String()}).String(); got != need || need != "driver >= 580.65.06" {
		t.Errorf("the rules say %q, a requirement says %q", need, got)
	}
}
