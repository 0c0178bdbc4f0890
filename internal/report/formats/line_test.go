package formats

import (
	"testing"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// TestLineCutsNoCommand checks that a step whose command does not fit into the line names the program that prints it.
func TestLineCutsNoCommand(t *testing.T) {
	for say, want := range map[string]string{
		"run `sudo nvidia-smi -L && sudo nvidia-modprobe -u -c 0` on the host, then start the container again with its GPU": "; fix: cudacompat doctor",
		"run `nvidia-smi` on the host, which names all of those programs that hold its memory":                              "; fix: run `nvidia-smi` on the host, which names all of tho...",
		"restart the container": "; fix: restart the container",
	} {
		if got := firstStep(verdict.Finding{Steps: []pin.Step{pin.Say(say)}}, 62); got != want {
			t.Errorf("%q: %q, want %q", say, got, want)
		}
	}
}
