package change

import (
	"maps"
	"slices"
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// installed is an environment with torch and what that requires.
type installed map[string][]string

func (i installed) Version(name string) (string, bool) { _, ok := i[name]; return "1.0", ok }
func (i installed) Requires(name string) []string      { return i[name] }

var whole = installed{"torch": {"sympy>=1.0", "nvidia-cudnn-cu12==1.0", "triton==1.0", "numpy>=1.0; extra == 'x'"},
	"sympy": {"mpmath<2"}, "mpmath": nil, "numpy": nil, "triton": nil, "nvidia-cudnn-cu12": nil}

// TestLacks checks what a plan leaves unmet, and plans that leave nothing.
func TestLacks(t *testing.T) {
	metadata := func(name, version string, lines ...string) facts.Planned {
		return facts.Planned{Name: name, Version: version, Requires: append([]string{}, lines...)}
	}
	for name, c := range map[string]struct {
		plan facts.Plan
		want []facts.Lack
	}{
		"nothing that is required": {plan: facts.Plan{Installs: planned("requests", "2")}},
		"a requirement of a requirement goes": {facts.Plan{Removes: planned("mpmath", "1.0")},
			[]facts.Lack{{Of: "torch", By: "sympy", Requires: "mpmath<2"}}},
		"a release that is refused comes": {facts.Plan{Removes: planned("mpmath", "1.0"), Installs: planned("mpmath", "2.0")},
			[]facts.Lack{{Of: "torch", By: "sympy", Requires: "mpmath<2", Have: "2.0"}}},
		"one that is accepted comes":        {plan: facts.Plan{Removes: planned("mpmath", "1.0"), Installs: planned("mpmath", "1.5")}},
		"of a library its files tell":       {plan: facts.Plan{Removes: planned("nvidia-cudnn-cu12", "1.0")}},
		"of torch's own parts its rules do": {plan: facts.Plan{Removes: planned("triton", "1.0")}},
		"torch itself goes":                 {plan: facts.Plan{Removes: planned("torch", "1.0", "mpmath", "1.0")}},
		"a resolver saw what comes":         {plan: facts.Plan{Installs: planned("vllm", "0.13.0")}},
		"none did": {facts.Plan{NoDeps: facts.NoDepsYes, Installs: planned("vllm", "0.13.0")},
			[]facts.Lack{{Of: "vllm", By: "vllm"}}},
		"the same release comes again": {plan: facts.Plan{NoDeps: facts.NoDepsYes, Removes: planned("torch", "1.0"),
			Installs: planned("torch", "1.0")}},
		"a library comes": {plan: facts.Plan{NoDeps: facts.NoDepsYes, Installs: planned("nvidia-cudnn-cu12", "1.0")}},
		"the plan has its metadata": {facts.Plan{Installs: []facts.Planned{metadata("vllm", "0.13.0", "packaging", "torch==0.9",
			"sympy", "pynvml; sys_platform == 'win32'")}}, []facts.Lack{{Of: "vllm", By: "vllm", Requires: "packaging"},
			{Of: "vllm", By: "vllm", Requires: "torch==0.9", Have: "1.0"}}},
		"and that requires nothing": {plan: facts.Plan{NoDeps: facts.NoDepsYes, Installs: []facts.Planned{metadata("torchao", "1.0")}}},
	} {
		change := Change{Plan: c.plan}
		got := change.Lacks(facts.Environment{Python: "3.12.1", Builds: []facts.Build{{Name: "torch"}}}, "x86_64", whole)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestReadWithout checks that the files of a build that stays show whether it can do without a removed distribution,
// unless something else that they depend on is replaced, too.
func TestReadWithout(t *testing.T) {
	for name, c := range map[string]struct {
		plan facts.Plan
		want []facts.Lack
	}{
		"goes":  {plan: facts.Plan{Removes: planned("mpmath", "1.0")}},
		"NumPy": {facts.Plan{Removes: planned("numpy", "1.0")}, []facts.Lack{{Of: "torch", By: "torch", Requires: "numpy>=1.0"}}},
		"comes": {facts.Plan{Removes: planned("mpmath", "1.0"), Installs: planned("mpmath", "2.0")}, []facts.Lack{{Of: "torch", By: "sympy", Requires: "mpmath<2", Have: "2.0"}}},
		"cuDNN is replaced, too": {facts.Plan{Removes: planned("mpmath", "1.0", "nvidia-cudnn-cu12", "9.1.0.70"),
			Installs: planned("nvidia-cudnn-cu12", "9.9.0.52")}, []facts.Lack{{Of: "torch", By: "sympy", Requires: "mpmath<2"}}},
	} {
		change := Change{Plan: c.plan}
		env := facts.Environment{Python: "3.12.1", Builds: []facts.Build{torch()}}
		have := maps.Clone(whole)
		have["torch"] = append(slices.Clone(have["torch"]), "numpy>=1.0")
		if diff := cmp.Diff(c.want, change.Lacks(change.Apply(env, env), "x86_64", have)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestCircle checks distributions that require each other.
func TestCircle(t *testing.T) {
	round := installed{"a": {"b"}, "b": {"a"}}
	c := Change{Plan: facts.Plan{Removes: planned("c", "1.0")}}
	if got := c.Lacks(facts.Environment{Builds: []facts.Build{{Name: "a"}}}, "", round); got != nil {
		t.Error(got)
	}
}
