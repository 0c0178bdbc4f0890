package model

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestTorchBeside checks that a torchvision belongs to one PyTorch, and that a torchaudio from 2.10 on also runs beside
// others.
func TestTorchBeside(t *testing.T) {
	var f facts.Facts
	f.Complete()
	m := NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
	for _, c := range []struct{ name, release, want string }{
		{"torchvision", "0.24.0", "2.9.0"}, {"torchvision", "0.24.0+cu126", "2.9.0"}, {"torchaudio", "2.8.0", "2.8.0"},
		{"torchaudio", "2.9.0", "2.9.0"}, {"torchaudio", "2.10.0", ""}, {"torchvision", "2.9.0", ""}, {"torchcodec", "0.24.0", ""},
	} {
		if got := m.torchBeside(c.name, c.release); got != c.want {
			t.Errorf("%s %s: torch %q, want %q", c.name, c.release, got, c.want)
		}
	}
}
