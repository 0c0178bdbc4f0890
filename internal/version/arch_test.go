package version

import (
	"strings"
	"testing"
)

// TestServes: machine code runs on its major from its minor on, PTX on everything from it on, "a" on one capability,
// "f" on a family; on a Tegra module only machine code for just that one is known to.
func TestServes(t *testing.T) {
	gpus := strings.Fields("5.3 7.0 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.1 10.3 10.7 11.0 12.0 12.1")
	for code, want := range map[string]string{
		"sm_70": "7.0 7.5", "sm_75": "7.5", "sm_80": "8.0 8.6 8.9", "sm_86": "8.6 8.9", "sm_87": "8.7 8.9", "sm_89": "8.9",
		"sm_90": "9.0", "sm_90a": "9.0", "sm_100": "10.0 10.3 10.7", "sm_100a": "10.0", "sm_100f": "10.0 10.3 10.7",
		"sm_103f": "10.3 10.7", "sm_110f": "11.0", "sm_120": "12.0 12.1", "sm_120a": "12.0", "sm_120f": "12.0 12.1", "sm_121": "12.1",
		"compute_90": "9.0 10.0 10.1 10.3 10.7 11.0 12.0 12.1", "compute_90a": "9.0", "compute_120": "12.0 12.1", "compute_86": "8.6 8.7 8.9 9.0 10.0 10.1 10.3 10.7 11.0 12.0 12.1",
	} {
		c, ok := ParseCode(code)
		if !ok || c.String() != code {
			t.Errorf("%s is read as %s, %v", code, c, ok)
		}
		var served []string
		for _, text := range gpus {
			gpu, err := ParseCapability(text)
			if err != nil {
				t.Fatal(err)
			}
			if c.Serves(gpu) {
				served = append(served, text)
			}
		}
		if got := strings.Join(served, " "); got != want {
			t.Errorf("%s serves %s, want %s", code, got, want)
		}
	}
}

func TestWhatIsNoTarget(t *testing.T) {
	for _, text := range []string{"", "sm_", "sm_9", "sm_9a", "sm_1000", "sm_90b", "sm_9.0", "compute_", "compute_x0", "gfx90a", "SM_90", "sm_90af"} {
		if c, ok := ParseCode(text); ok {
			t.Errorf("%q is read as %s", text, c)
		}
	}
	for _, text := range []string{"", "8", "8.", ".9", "8.99", "100.0", "8.x", "x.8", "8.9.1"} {
		if c, err := ParseCapability(text); err == nil {
			t.Errorf("%q is read as %s", text, c)
		}
	}
}

func TestCover(t *testing.T) {
	for _, c := range []struct {
		sass, ptx, gpu string
		want           Coverage
	}{
		{"sm_80 sm_90", "compute_90", "8.6", BySASS},
		{"sm_90", "compute_80", "8.6", ByPTX},
		{"sm_90", "compute_90", "8.6", Uncovered},
		{"sm_80", "", "8.7", Unsure}, // Orin: desktop machine code of its major
		{"sm_70", "", "8.7", Uncovered},
		{"sm_80", "compute_80", "8.7", ByPTX},
		{"sm_87", "compute_80", "8.7", BySASS},
		{"sm_100a", "", "10.1", Uncovered}, // exactly 10.0
		{"sm_120", "", "12.1", BySASS},     // GB10 is no Tegra
		{"sm_80 rubbish", "", "8.0", BySASS},
		{"", "", "8.0", Uncovered},
	} {
		gpu, err := ParseCapability(c.gpu)
		if err != nil {
			t.Fatal(err)
		}
		if got := Cover(strings.Fields(c.sass), strings.Fields(c.ptx), gpu); got != c.want {
			t.Errorf("%s with %s on %s: %d, want %d", c.sass, c.ptx, c.gpu, got, c.want)
		}
	}
}

// TestRanges: three parts count, leading zeros do not, and the zero Range has every version.
func TestRanges(t *testing.T) {
	for text, c := range map[string]struct{ in, out string }{
		">=9.8,<10.0":        {"9.8 9.8.1.5 9.99", "9.7 10.0 10.1"},
		">=525.60.02,<580":   {"525.60.13 525.60.02 570.1", "525.60.01 580 580.65.06"},
		">=8.9.2.26,<9":      {"8.9.2 8.9.7.29", "8.9.1 9.0"},
		"==12.4":             {"12.4 12.4.0", "12.5"},
		">=11 <12 || >=12.6": {"11.8 12.6 13.0", "12.0 12.5 10.2"},
	} {
		r, err := ParseRange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, v := range strings.Fields(c.in) {
			if !r.Has(ParseOrZero(v)) {
				t.Errorf("%s does not have %s", text, v)
			}
		}
		for _, v := range strings.Fields(c.out) {
			if r.Has(ParseOrZero(v)) {
				t.Errorf("%s has %s", text, v)
			}
		}
	}
	if r, err := ParseRange("new"); err == nil || r.Has(ParseOrZero("1.0")) {
		t.Errorf("%q is a range: %v", "new", err)
	}
	if err := (Range{}).Valid(); err != nil || !(Range{}).Has(ParseOrZero("1.0")) {
		t.Errorf("the zero Range does not have every version: %v", err)
	}
}

// TestUnknownCapability: what is not known is written as nothing, and compares as no number.
func TestUnknownCapability(t *testing.T) {
	if text, number := (Capability{}).String(), (Capability{}).Number(); text != "" || number.Known() {
		t.Errorf("not known: %q, %v", text, number)
	}
	if got := (Capability{8, 9}).String(); got != "8.9" {
		t.Errorf("8.9 is %q", got)
	}
}
