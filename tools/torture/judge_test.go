//go:build linux

package main

import "testing"

// TestIsJSON: a report that is cut is none, and two machines' reports are two.
func TestIsJSON(t *testing.T) {
	for text, want := range map[string]bool{"{}": true, "{}\n{}\n": true, "": false, "{": false, "{}\n{\"a\"": false, "{} x": false} {
		if got := isJSON([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
