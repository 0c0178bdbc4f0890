package matrix

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

var pairs = flag.Int("pairs", 60, "how many pairs of a torch and a package TestSurfacesAgree draws; 1000 is the whole")

var pairSeed = flag.Uint64("pairseed", 53, "the seed by which TestSurfacesAgree draws")

// TestSurfacesAgree draws pairs of a torch and a package beside it and asks for each as a file names it, as pip lists it,
// as a plan brings it and as an environment has it. All answers are the same, and few are unknown where the rows have
// every key.
func TestSurfacesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(*pairSeed, 2026))
	torches, packages := drawn()
	counts := map[string]int{}
	unknown := 0
	for i := range *pairs {
		torch, beside := torches[random.IntN(len(torches))], packages[random.IntN(len(packages))]
		for i > *pairs/3 && model.OtherTorch(beside.Torch, version.Of(torch.Release)) { // most drawn blindly differ by the release
			torch = torches[random.IntN(len(torches))]
		}
		answers := map[string]string{}
		for surface, f := range surfacesOf(t, torch, beside) {
			v := Check(context.Background(), Embedded(), f, []Target{{Driver: "595.91.07"}}, verdict.Policy{})
			answers[surface] = pairAnswer(v, beside.Package)
		}
		want := answers["file"]
		for surface, got := range answers {
			// The files of what is installed decide which of two wheels of one number it is.
			if got != want && !(surface == "environment" && want == "unknown") {
				t.Errorf("torch %s+%s and %s %s: %s says %q, file %q", torch.Release, torch.Variant, beside.Package, beside.Release, surface, got, want)
			}
		}
		counts[want]++
		if want == "unknown" {
			unknown++
		}
	}
	t.Logf("%d pairs: %v", *pairs, counts)
	if 20*unknown > *pairs {
		t.Errorf("%d of %d pairs are unknown, more than 5 %%", unknown, *pairs)
	}
}

// drawn is what pairs are made of: the torches of the tables for x86-64 Linux, and the releases of packages beside them
// whose rows say for which torch and which CUDA they are.
func drawn() (torches []tables.Torch, packages []tables.Extension) {
	for _, r := range tables.Rows[tables.Torch](Embedded()) {
		if r.Platform == "linux_x86_64" && version.Of(r.Release).AtLeastShort(2, 0) {
			torches = append(torches, r)
		}
	}
	names := []string{"torchvision", "torchaudio", "torchcodec", "xformers", "sgl-kernel", "sglang-kernel", "vllm", "flash-attn"}
	for _, e := range tables.Rows[tables.Extension](Embedded()) {
		release, _ := version.ParseRelease(e.Release)
		if slices.Contains(names, e.Package) && e.Platform == "linux_x86_64" && e.Variant == "pypi" && release.Final() &&
			len(e.Torch) > 0 && len(e.CUDA) > 0 && e.Symbols != "" &&
			slices.ContainsFunc(torches, func(r tables.Torch) bool { return !model.OtherTorch(e.Torch, version.Of(r.Release)) }) {
			packages = append(packages, e)
		}
	}
	return torches, packages
}

// surfacesOf is one pair as each surface has it.
func surfacesOf(t *testing.T, torch tables.Torch, beside tables.Extension) map[string]probe.Facts {
	t.Helper()
	full := torch.Release + "+" + torch.Variant
	given := func(name, text string) probe.Facts {
		f, err := probe.GivenFile(probe.Document{Name: name, Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	env := facts.Environment{Path: "/opt/venv", Python: "3.12", Named: true, Builds: []facts.Build{{Name: "torch", Version: full,
		Accelerator: "cuda", CUDA: torch.CUDA.Short(), Origin: "wheel", Path: "/opt/venv/lib/python3.12/site-packages/torch", Looked: true}},
		Packages: []facts.Package{{Name: "torch", Version: full, Path: "/opt/venv/lib/python3.12/site-packages/torch.dist-info"}}}
	installed, planned := env, env
	installed.Builds = append(slices.Clone(env.Builds), facts.Build{Name: beside.Package, Version: beside.Release, Extension: true,
		Framework: "torch", Accelerator: map[bool]string{true: "cuda"}[beside.CUDA[0] != "none"], CUDA: strings.TrimPrefix(beside.CUDA[0], "none"),
		Origin: "wheel", Path: "/opt/venv/lib/python3.12/site-packages/" + beside.Package, SASS: beside.SASS, PTX: beside.PTX})
	planned.Requested = []facts.Requested{{Name: beside.Package, Version: beside.Release, Index: "default", From: "plan"}}
	of := func(e facts.Environment, plan *facts.Plan) probe.Facts {
		var f facts.Facts
		f.System.Arch, f.Environments, f.Plan = "x86_64", []facts.Environment{e}, plan
		f.Complete()
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return given("facts.json", string(data))
	}
	return map[string]probe.Facts{
		"file":        given("requirements.txt", fmt.Sprintf("torch==%s\n%s==%s\n", full, beside.Package, beside.Release)),
		"list":        given("list.txt", fmt.Sprintf("Package Version\n------- -------\n%s %s\ntorch %s\n", beside.Package, beside.Release, full)),
		"plan":        of(planned, &facts.Plan{Installs: []facts.Planned{{Name: beside.Package, Version: beside.Release}}}),
		"environment": of(installed, nil),
	}
}
