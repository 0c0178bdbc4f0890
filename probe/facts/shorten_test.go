package facts

import (
	"strings"
	"testing"
)

// TestShorten cuts only texts that are too long, anywhere in the value and between characters.
func TestShorten(t *testing.T) {
	long, fits := strings.Repeat("é", 3000), strings.Repeat("x", 4096)
	f := Facts{Driver: Driver{Version: long, From: fits, Kernel: []string{"a", long}}, Variables: map[string]string{"A": long, "B": "b"},
		Environments: []Environment{{Builds: []Build{{Name: "torch", Requires: map[string]string{"x": long}}}}}}
	f.Shorten()
	cut := strings.Repeat("é", 2048) + "…"
	for _, got := range []string{f.Driver.Version, f.Driver.Kernel[1], f.Variables["A"], f.Environments[0].Builds[0].Requires["x"]} {
		if got != cut {
			t.Errorf("%d bytes, want %d", len(got), len(cut))
		}
	}
	if f.Driver.From != fits || f.Driver.Kernel[0] != "a" || f.Variables["B"] != "b" || f.Environments[0].Builds[0].Name != "torch" {
		t.Errorf("what was short is another: %+v", f)
	}
}
