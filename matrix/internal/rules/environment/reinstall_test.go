package environment

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// One command reinstalls all lost wheels. A command for the first of several would leave the others as they are.
func TestForcedPin(t *testing.T) {
	pins := ReinstallPins(model.NewEnvironment(tables.Embedded(), &facts.Environment{}),
		pin.Package{Package: "nvidia-cudnn-cu12", Version: "9.10.2.21"},
		pin.Package{Package: "nvidia-cublas-cu12", Version: "12.8.4.1"},
		pin.Package{Package: "nvidia-cudnn-cu12", Version: "9.10.2.21"})
	if len(pins) != 1 {
		t.Fatalf("%d pins, want 1", len(pins))
	}
	want := "uv pip install --no-deps --reinstall nvidia-cudnn-cu12==9.10.2.21 nvidia-cublas-cu12==12.8.4.1"
	if got := pins[0].Commands["uv"]; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
