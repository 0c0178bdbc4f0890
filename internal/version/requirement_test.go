package version

import "testing"

// TestRequirement holds expressions against one GPU and its driver.
func TestRequirement(t *testing.T) {
	l4 := Properties{CUDA: ParseOrZero("12.4"), Driver: ParseOrZero("550.54.15"), Arch: ParseOrZero("8.9"), Brand: "tesla"}
	unbranded, nothing, without := l4, Properties{}, Properties{CUDA: l4.CUDA, Driver: l4.Driver, NoGPU: true}
	unbranded.Brand = ""
	tests := []struct {
		name string
		text string
		on   Properties
		want Truth
	}{
		{"equal", "cuda>=12.4", l4, Met},
		{"newer", "cuda>=12.5", l4, Unmet},
		{"longer", "cuda=12.4.0", l4, Met},
		{"not", "cuda!=12.4", l4, Unmet},
		{"less", "driver<550.54.16", l4, Met},
		{"integers", "driver>=550.100", l4, Unmet},
		{"or", "cuda>=12.6 brand=tesla,driver>=550,driver<551", l4, Met},
		{"and", "cuda>=12.4,arch>=9.0", l4, Unmet},
		{"case", "CUDA>=12.4,Brand=TESLA", l4, Met},
		{"brand-not", "brand!=geforce", l4, Met},
		{"brand-unknown", "cuda>=12.6 brand=tesla,driver>=550", unbranded, Unsaid},
		{"brand-unknown-other-driver", "cuda>=12.6 brand=tesla,driver>=560", unbranded, Unmet},
		{"brand-unknown-met-anyway", "cuda>=12.4 brand=tesla", unbranded, Met},
		{"no-gpu", "arch>=9.0,brand=geforce", without, Met},
		{"nothing-known", "cuda>=12.4", nothing, Unsaid},
		{"other-property", "cores>=4", l4, Unsaid},
		{"empty", "", l4, Met},
		{"blanks", "  cuda>=12.4   ", l4, Met},
		{"commas", ",cuda>=12.6,,", l4, Unmet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseRequirement(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.On(tt.on); got != tt.want {
				t.Errorf("%q is %d, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestRequirementRefuses(t *testing.T) {
	for _, text := range []string{"cuda", ">=12.4", "cuda>=", "cuda=>12", "cuda>=12.4 driver"} {
		if r, err := ParseRequirement(text); err == nil {
			t.Errorf("%q was read as %v", text, r)
		}
	}
}

func FuzzParseRequirement(f *testing.F) {
	f.Add("cuda>=12.4 brand=tesla,driver>=535,driver<536")
	f.Add("<>=!,, =")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequirement(text)
		if err != nil {
			return
		}
		if got := r.On(Properties{NoGPU: true}); got != Unmet && got != Unsaid && got != Met {
			t.Errorf("%q is %d", text, got)
		}
	})
}
