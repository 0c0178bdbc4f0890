package main

import (
	"testing"
	"time"
)

func TestInitialised(t *testing.T) {
	parts := initialised([]byte("init runtime @0.025 ms, 0.047 ms clock, 0 bytes, 0 allocs\n" +
		"cudacompat 0.1.0, tables of 2026-11-22\n" +
		"init a/b @2.4 ms, 1.5 ms clock, 952 bytes, 12 allocs\n"))
	want := []part{{"runtime", 47 * time.Microsecond}, {"a/b", 1500 * time.Microsecond}}
	if len(parts) != 2 || parts[0] != want[0] || parts[1] != want[1] {
		t.Errorf("%v, want %v", parts, want)
	}
	if got, want := longest(parts), "runtime 0.05 ms, a/b 1.50 ms; 0 others 0.00 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
