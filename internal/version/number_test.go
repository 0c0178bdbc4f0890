package version

import "testing"

// TestParse: up to four parts of 32 bits; what follows the number of a package is left out, and a text without one is none.
func TestParse(t *testing.T) {
	for text, want := range map[string]Number{
		"535.183.01":         {text: "535.183.01", parts: [4]uint64{535, 183, 1}, count: 3},
		"9.10.2.21-1+cuda12": {text: "9.10.2.21-1+cuda12", parts: [4]uint64{9, 10, 2, 21}, count: 4},
		"13.x":               {text: "13.x", parts: [4]uint64{13}, count: 1},
		"4294967295":         {text: "4294967295", parts: [4]uint64{4294967295}, count: 1},
		"4294967296":         {}, "1.2.3.4.5": {}, "1..2": {}, ".1": {}, "": {}, "unknown": {},
	} {
		got, err := Parse(text)
		if got != want || (err == nil) != want.Known() {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestShort: a CUDA release has two parts, a family one.
func TestShort(t *testing.T) {
	for text, want := range map[string]string{"12.6.3": "12.6", "12.6": "12.6", "12.0": "12.0", "12": "12"} {
		if got := ParseOrZero(text).Short(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
