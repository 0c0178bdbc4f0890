package main

import "testing"

// TestFirstDifferences counts equal lines, and names those that only one screen has.
func TestFirstDifferences(t *testing.T) {
	for name, tt := range map[string]struct{ was, is, want string }{
		"changed":  {"a\nb\nc\n", "a\nx\nc\n", "  - b\n  + x\n"},
		"repeated": {"a\na\n", "a\n", "  - a\n"},
		"order":    {"a\nb\n", "b\na\n", "  the same lines in another order\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := firstDifferences(tt.was, tt.is); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
