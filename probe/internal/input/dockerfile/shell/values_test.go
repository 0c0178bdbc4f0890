package shell

import (
	"strings"
	"testing"

	"cudacompat/internal/version"
)

// TestTrimmed: what the shell cuts off.
func TestTrimmed(t *testing.T) {
	for _, c := range [][4]string{
		{"12.6.3", "%", ".*", "12.6"}, {"12.6.3", "%%", ".*", "12"}, {"12.6.3", "#", "*.", "6.3"},
		{"12.6.3", "##", "*.", "3"}, {"12", "%", ".*", "12"}, {"12", "#", "[", "12"},
	} {
		if got := trimPattern(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("${%s%s%s}: %q, want %q", c[0], c[1], c[2], got, c[3])
		}
	}
}

// TestExpansionIsBounded adds a long variable to a command many times.
func TestExpansionIsBounded(t *testing.T) {
	r := NewReader(&recorder{variables: map[string]Value{"A": ValueOf(strings.Repeat("a", MaxValue))}})
	r.Local = map[string]Value{}
	r.Follow("pip install "+strings.Repeat("$A", 10_000), 1, version.Met, 0)
	if r.added > MaxExpanded+MaxValue*20_000 {
		t.Errorf("expanded to %d bytes", r.added)
	}
}
