package model

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestUnsaidVariant: a release of which the tables have other builds is not said to be unknown to them.
func TestUnsaidVariant(t *testing.T) {
	var f facts.Facts
	f.System.Arch = "x86_64"
	f.Complete()
	m := NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
	for text, want := range map[string]string{
		"2.9.0+cu118":  "have torch 2.9.0 only for cu126, cu128, cu129 and cu130",
		"2.99.0+cu118": "do not have torch 2.99.0",
	} {
		release, _ := version.ParseRelease(text)
		b := &Build{Build: &facts.Build{Name: "torch", Version: text}, Env: &Environment{Environment: &facts.Environment{}}, Release: release}
		if got := m.Unsaid(b); got != verdict.TablesReason(want) {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
	release, _ := version.ParseRelease("2.9.0")
	either := &Build{Build: &facts.Build{Name: "torch", Version: "2.9.0"}, Env: &Environment{Environment: &facts.Environment{}},
		Release: release, Rows: []Row{{Wheel: tables.Wheel{Variant: "cu126"}}, {Wheel: tables.Wheel{Variant: "cu128"}}}}
	if got := m.Unsaid(either); got != verdict.FileReason("does not say which of its builds is installed: cu126, cu128") {
		t.Errorf("one of two: %+v", got)
	}
}
