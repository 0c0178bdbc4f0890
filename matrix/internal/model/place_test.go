package model

import (
	"testing"

	"cudacompat/probe/facts"
)

// TestPlace checks a build that Python imports from a directory before the environment's own. Findings name that
// directory, and installers change it.
func TestPlace(t *testing.T) {
	env := &Environment{Environment: &facts.Environment{Path: "/opt/venv", Kind: "venv", Python: "3.12.3", NoPip: true}}
	own := &Build{Build: &facts.Build{Name: "torch", Version: "2.9.0"}, Env: env}
	if own.Place() != env || Subject(own.Build, env.Environment) != "torch 2.9.0 in /opt/venv" {
		t.Errorf("the environment's own: %+v, %s", own.Place(), Subject(own.Build, env.Environment))
	}
	other := &Build{Build: &facts.Build{Name: "torch", Version: "2.9.0+cpu", Site: "/shared", Hides: []string{"torch 2.9.0 in /opt/venv/lib"}}, Env: env}
	if at := other.Place(); at.Path != "/shared" || at.Kind != "target" || !at.NoPip || env.Path != "/opt/venv" {
		t.Errorf("another directory's: %+v", at.Environment)
	}
	if got := Subject(other.Build, env.Environment); got != "torch 2.9.0+cpu in /shared" {
		t.Errorf("it is called %q", got)
	}
	last := other.Evidence()[len(other.Evidence())-1]
	if last.Fact != "hides" || last.Value != "torch 2.9.0 in /opt/venv/lib" {
		t.Errorf("evidence %+v", last)
	}
}
