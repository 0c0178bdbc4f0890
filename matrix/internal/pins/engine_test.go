package pins

import (
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// onX86 returns a machine of which only the architecture is known.
func onX86() *model.Machine {
	var f facts.Facts
	f.System.Arch = "x86_64"
	f.Complete()
	return model.NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
}

// TestEnginesIn checks that a package which an engine brings counts only without the engine.
func TestEnginesIn(t *testing.T) {
	m := onX86()
	for packages, want := range map[string]string{"vllm-0.8.5 xformers-0.0.29": "vllm", "xformers-0.0.29": "xformers", "requests-2.0": ""} {
		var env facts.Environment
		for _, p := range strings.Fields(packages) {
			name, release, _ := strings.Cut(p, "-")
			env.Packages = append(env.Packages, facts.Package{Name: name, Version: release})
		}
		var got []string
		for _, p := range EnginesIn(m, model.NewEnvironment(tables.Embedded(), &env)) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("engines of %s: %q, want %q", packages, got, want)
		}
	}
}

// TestCompanionFor checks that torchaudio 2.11.0, built for CUDA up to 13.0, is not offered for 13.2, which came later.
func TestCompanionFor(t *testing.T) {
	for _, c := range []struct{ name, release, variant, want string }{
		{"torchaudio", "2.11.0", "cu130", "2.11.0+cu130"},
		{"torchaudio", "2.11.0", "cu132", ""},
		{"torchvision", "0.24.0", "cu130", "0.24.0+cu130"},
		{"torchaudio", "", "cu130", ""},
	} {
		got, ok := CompanionFor(onX86(), pin.Package{Package: c.name, Version: c.release},
			model.Row{Wheel: tables.Wheel{Release: "2.13.0", Variant: c.variant, Platform: "linux_x86_64"}})
		if ok != (c.want != "") || ok && got.Version != c.want {
			t.Errorf("%s %s for %s: %v, %v, want %q", c.name, c.release, c.variant, got, ok, c.want)
		}
	}
}
