package scan

import (
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs/signature"
	"cudacompat/internal/tables"
)

// TestMissesAreOfOneShape checks that a cached miss applies to lines that differ only in digits, if digits mean nothing
// to the pattern.
func TestMissesAreOfOneShape(t *testing.T) {
	rows := signature.ConvertRows([]tables.Signature{{ID: "blind", Pattern: `failed at step \d{1,3} of `},
		{ID: "code", Pattern: `error code 719\b`}})
	if !rows[0].IgnoresDigits() || rows[1].IgnoresDigits() {
		t.Errorf("blind: %t, %t; want true, false", rows[0].IgnoresDigits(), rows[1].IgnoresDigits())
	}
	for log, want := range map[string][]string{
		"error code 718\nerror code 719\n":                        {"code"},
		"failed at step 7 x\nfailed at step 8 x\n":                nil,
		"failed at step 7 x\nfailed at step 8 of 9\n":             {"blind"},
		"error code 718\nfailed at step 1 of 2\nerror code 719\n": {"blind", "code"},
	} {
		s := NewScanner(signature.NewFinder(rows), rows)
		if err := s.Read(t.Context(), strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range s.ListHits(0) {
			got = append(got, e.Signature.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
	shapeOf := func(line string) uint64 { return new(Scanner).shapeOf([]byte(line)) }
	if shapeOf("step 17") != shapeOf("step 93") || shapeOf("step 17") == shapeOf("stop 17") {
		t.Error("a shape is what is alike but for the digits")
	}
}
