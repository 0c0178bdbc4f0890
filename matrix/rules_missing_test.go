package matrix

import "testing"

// One command puts all lost wheels back: the first of several would leave the rest as it is.
func TestPutBack(t *testing.T) {
	var f Finding
	f.putBack("nvidia-cudnn-cu12", "9.10.2.21")
	f.putBack("nvidia-cublas-cu12", "12.8.4.1")
	f.putBack("nvidia-cudnn-cu12", "9.10.2.21")
	if len(f.Pins) != 1 {
		t.Fatalf("%d pins, want 1", len(f.Pins))
	}
	want := "uv pip install --no-deps --reinstall nvidia-cudnn-cu12==9.10.2.21 nvidia-cublas-cu12==12.8.4.1"
	if got := f.Pins[0].Commands["uv"]; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
