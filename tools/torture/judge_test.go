//go:build linux

package main

import "testing"

// TestIsJSON checks that a truncated report is not JSON, and that two machines' reports count as two.
func TestIsJSON(t *testing.T) {
	for text, want := range map[string]bool{"{}": true, "{}\n{}\n": true, "": false, "{": false, "{}\n{\"a\"": false, "{} x": false} {
		if got := isJSON([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
