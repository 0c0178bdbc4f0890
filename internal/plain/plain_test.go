package plain

import "testing"

func TestOdd(t *testing.T) {
	for _, text := range []string{
		"The toolkit does not go with this driver.",
		"for data-centre\nGPUs alone",
		"That file is no library.",
		"libcuda is of another driver",
		"a module of driver 550",
		"write it anew",
	} {
		if len(Odd(text)) == 0 {
			t.Errorf("%q is called plain", text)
		}
	}
	for _, text := range []string{
		"There is no driver.",
		"Where there is no GPU, it is no longer needed.",
		"It leaves the other files alone.",
		"Works on driver 535.",
	} {
		if odd := Odd(text); len(odd) > 0 {
			t.Errorf("%q is called odd: %q", text, odd)
		}
	}
}
