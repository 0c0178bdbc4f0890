package main

import (
	"os"
	"testing"
)

// TestPairs draws a few pairs among the system's own libraries; a large draw is made by hand.
func TestPairs(t *testing.T) {
	if _, err := os.Stat(loader); err != nil {
		t.Skip("no loader of glibc for x86_64 is here")
	}
	if n := pairs([]string{"/usr/lib/x86_64-linux-gnu", "/usr/local/lib"}, 40, 1, func(text string) { t.Error(text) }); n == 0 {
		t.Skip("no libraries are here")
	}
}
