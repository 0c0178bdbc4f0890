package matrix

import "testing"

// TestRequirement holds expressions against one GPU and its driver.
func TestRequirement(t *testing.T) {
	l4 := properties{cuda: version("12.4"), driver: version("550.54.15"), arch: version("8.9"), brand: "tesla"}
	unbranded, nothing, without := l4, properties{}, properties{cuda: l4.cuda, driver: l4.driver, noGPU: true}
	unbranded.brand = ""
	tests := []struct {
		name string
		text string
		on   properties
		want truth
	}{
		{"equal", "cuda>=12.4", l4, met},
		{"newer", "cuda>=12.5", l4, unmet},
		{"longer", "cuda=12.4.0", l4, met},
		{"not", "cuda!=12.4", l4, unmet},
		{"less", "driver<550.54.16", l4, met},
		{"integers", "driver>=550.100", l4, unmet},
		{"or", "cuda>=12.6 brand=tesla,driver>=550,driver<551", l4, met},
		{"and", "cuda>=12.4,arch>=9.0", l4, unmet},
		{"case", "CUDA>=12.4,Brand=TESLA", l4, met},
		{"brand-not", "brand!=geforce", l4, met},
		{"brand-unknown", "cuda>=12.6 brand=tesla,driver>=550", unbranded, unsaid},
		{"brand-unknown-other-driver", "cuda>=12.6 brand=tesla,driver>=560", unbranded, unmet},
		{"brand-unknown-met-anyway", "cuda>=12.4 brand=tesla", unbranded, met},
		{"no-gpu", "arch>=9.0,brand=geforce", without, met},
		{"nothing-known", "cuda>=12.4", nothing, unsaid},
		{"other-property", "cores>=4", l4, unsaid},
		{"empty", "", l4, met},
		{"blanks", "  cuda>=12.4   ", l4, met},
		{"commas", ",cuda>=12.6,,", l4, unmet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parseRequirement(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.on(tt.on); got != tt.want {
				t.Errorf("%q is %d, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestRequirementRefuses(t *testing.T) {
	for _, text := range []string{"cuda", ">=12.4", "cuda>=", "cuda=>12", "cuda>=12.4 driver"} {
		if r, err := parseRequirement(text); err == nil {
			t.Errorf("%q was read as %v", text, r)
		}
	}
}

func FuzzParseRequirement(f *testing.F) {
	f.Add("cuda>=12.4 brand=tesla,driver>=535,driver<536")
	f.Add("<>=!,, =")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRequirement(text)
		if err != nil {
			return
		}
		if got := r.on(properties{noGPU: true}); got != unmet && got != unsaid && got != met {
			t.Errorf("%q is %d", text, got)
		}
	})
}
