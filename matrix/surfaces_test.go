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
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

var pairs = flag.Int("pairs", 60, "how many pairs of a torch and a package TestSurfacesAgree draws; 1000 is the whole")

var pairSeed = flag.Uint64("pairseed", 53, "the seed by which TestSurfacesAgree draws")

// TestSurfacesAgree draws pairs of a torch and a package beside it, on a GPU or none, and asks for each as a file names it, as
// pip lists it, as a plan brings it and as an environment has it. All answers are the same, and few are unknown where the rows
// have every key. What pins offers is no pair that the file's answer calls broken. (guard judges the plan, and explain the
// list: TestPairsOnEverySurface of cmd/cudacompat.)
func TestSurfacesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(*pairSeed, 2026))
	draw := newDraw(random)
	counts := map[string]int{}
	unknown := 0
	for i := range *pairs {
		p := draw.pair(i > *pairs/3)
		target := Target{Driver: "595.91.07"}
		if p.gpu != "" {
			target.GPUs = []string{p.gpu}
		}
		answers := map[string]string{}
		for surface, f := range surfacesOf(t, p) {
			v := Check(context.Background(), Embedded(), f, []Target{target}, verdict.Policy{})
			answers[surface] = drawnAnswer(v, p.name)
		}
		want := answers["file"]
		for surface, got := range answers {
			// The files of what is installed decide which of two wheels of one number it is.
			if got != want && !(surface == "environment" && want == "unknown") {
				t.Errorf("%s: %s says %q, file %q", p, surface, got, want)
			}
		}
		if i%20 == 0 && p.gpu != "" && p.name != "triton" {
			p.tryPins(t, target, want)
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

// drawnAnswer returns that of pairAnswer, and an error where the package has no machine code for the GPU: of what is
// installed another rule says that.
func drawnAnswer(v verdict.Verdict, name string) string {
	for _, f := range v.Findings {
		if f.Rule == "gpu-arch-missing" && f.Severity == verdict.Error && strings.HasPrefix(f.Subject, name+" ") {
			return "error"
		}
	}
	return pairAnswer(v, name)
}

// drawnPair is a package beside a torch.
type drawnPair struct {
	torch         tables.Torch
	name, release string           // with the local version, where it has one
	row           tables.Extension // empty of Triton and of a companion from an index of PyTorch's
	cuda          string           // the CUDA that its files would say
	gpu           string
}

func (p drawnPair) full() string { return p.torch.Release + "+" + p.torch.Variant }

func (p drawnPair) String() string {
	return fmt.Sprintf("torch %s and %s %s on %q", p.full(), p.name, p.release, p.gpu)
}

// tryPins asks for the pair by its releases. A set is of these very ones, and no pair that is broken.
func (p drawnPair) tryPins(t *testing.T, target Target, want string) {
	t.Helper()
	wants := []pin.Want{{Package: "torch", Specifier: "==" + p.full()}, {Package: p.name, Specifier: "==" + p.release}}
	var f probe.Facts
	f.System.Arch = "x86_64"
	sets := PinsWanted(Embedded(), f, target, wants, func(pin.Set, Target) string { return "" })
	for _, s := range sets.Sets {
		same := slices.ContainsFunc(s.Packages, func(o pin.Package) bool { return o.Package == p.name && o.Version == p.release })
		if same && want == "error" {
			t.Errorf("%s: pins offer %v", p, s.Packages)
		}
	}
}

// drawing draws pairs from the tables.
type drawing struct {
	random   *rand.Rand
	torches  []tables.Torch
	packages []tables.Extension
}

// newDraw collects what pairs are made of: the torches of the tables for x86-64 Linux, and the releases of packages beside them
// whose rows say for which torch and which CUDA they are.
func newDraw(random *rand.Rand) drawing {
	d := drawing{random: random}
	for _, r := range tables.Rows[tables.Torch](Embedded()) {
		if r.Platform == "linux_x86_64" && version.ParseOrZero(r.Release).AtLeastShort(2, 0) {
			d.torches = append(d.torches, r)
		}
	}
	names := []string{"torchvision", "torchaudio", "torchcodec", "xformers", "sgl-kernel", "sglang-kernel", "vllm", "flash-attn"}
	for _, e := range tables.Rows[tables.Extension](Embedded()) {
		release, _ := version.ParseRelease(e.Release)
		if slices.Contains(names, e.Package) && e.Platform == "linux_x86_64" && e.Variant == "pypi" && release.Final() &&
			len(e.Torch) > 0 && len(e.CUDA) > 0 && e.Symbols != "" &&
			slices.ContainsFunc(d.torches, func(r tables.Torch) bool { return !model.OtherTorch(e.Torch, version.ParseOrZero(r.Release)) }) {
			d.packages = append(d.packages, e)
		}
	}
	return d
}

func (d drawing) torch() tables.Torch { return d.torches[d.random.IntN(len(d.torches))] }

// pair draws one: of six a Triton, a companion from an index of PyTorch's and a wheel of flash-attn's releases, else a package
// of the index. close draws a torch of the package's own release, since most that are drawn blindly differ by it.
func (d drawing) pair(close bool) drawnPair {
	p := drawnPair{torch: d.torch()}
	gpus := []string{"", "", "L4", "A100", "H100", "RTX 5090"}
	switch other := d.torch(); d.random.IntN(6) {
	case 0:
		p.name, p.release = "triton", other.Triton
		if close || other.Triton == "" {
			p.release = p.torch.Triton
		}
		if p.release == "" {
			return d.pair(close)
		}
		return p
	case 1:
		p.name = []string{"torchvision", "torchaudio"}[d.random.IntN(2)]
		if close {
			for other.Release != p.torch.Release {
				other = d.torch()
			}
		}
		p.release = map[string]string{"torchvision": other.Torchvision, "torchaudio": other.Torchaudio}[p.name]
		if p.release == "" {
			return d.pair(close)
		}
		p.release += "+" + other.Variant
		p.cuda = other.CUDA.Short()
		return p
	case 2:
		p.name = "flash-attn"
		torch := version.ParseOrZero(p.torch.Release).Short()
		if !close {
			torch = version.ParseOrZero(other.Release).Short()
		}
		cuda := []string{"11", "12"}[d.random.IntN(2)]
		p.release = "2.8.3+cu" + cuda + "torch" + torch + "cxx11abi" + []string{"TRUE", "FALSE"}[d.random.IntN(2)]
		p.cuda = cuda
		return p
	}
	p.row = d.packages[d.random.IntN(len(d.packages))]
	for close && model.OtherTorch(p.row.Torch, version.ParseOrZero(p.torch.Release)) {
		p.torch = d.torch()
	}
	p.name, p.release, p.cuda = p.row.Package, p.row.Release, strings.TrimPrefix(p.row.CUDA[0], "none")
	p.gpu = gpus[d.random.IntN(len(gpus))]
	if len(p.row.SASS) == 0 {
		p.gpu = "" // the row does not have this key
	}
	return p
}

// surfacesOf returns the facts of a drawn pair of packages as each input has them: a report, a lock, a Dockerfile and so on.
func surfacesOf(t *testing.T, p drawnPair) map[string]probe.Facts {
	t.Helper()
	given := func(name, text string) probe.Facts {
		f, err := probe.GivenFile(probe.Document{Name: name, Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const site = "/opt/venv/lib/python3.12/site-packages/"
	env := facts.Environment{Path: "/opt/venv", Python: "3.12", Named: true, Builds: []facts.Build{{Name: "torch", Version: p.full(),
		Accelerator: "cuda", CUDA: p.torch.CUDA.Short(), Origin: "wheel", Path: site + "torch", Looked: true,
		SASS: p.torch.SASS, PTX: p.torch.PTX}},
		Packages: []facts.Package{{Name: "torch", Version: p.full(), Path: site + "torch.dist-info"}}}
	installed, planned := env, env
	if p.name == "triton" {
		installed.Packages = append(slices.Clone(env.Packages), facts.Package{Name: p.name, Version: p.release, Path: site + "triton.dist-info"})
	} else {
		installed.Builds = append(slices.Clone(env.Builds), facts.Build{Name: p.name, Version: p.release, Extension: true,
			Framework: "torch", Accelerator: map[bool]string{true: "cuda"}[p.cuda != ""], CUDA: p.cuda,
			Origin: "wheel", Path: site + p.name, SASS: p.row.SASS, PTX: p.row.PTX})
	}
	planned.Requested = []facts.Requested{{Name: p.name, Version: p.release, Index: "default", From: "plan"}}
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
		"file":        given("requirements.txt", fmt.Sprintf("torch==%s\n%s==%s\n", p.full(), p.name, p.release)),
		"list":        given("list.txt", fmt.Sprintf("Package Version\n------- -------\n%s %s\ntorch %s\n", p.name, p.release, p.full())),
		"plan":        of(planned, &facts.Plan{Installs: []facts.Planned{{Name: p.name, Version: p.release}}}),
		"environment": of(installed, nil),
	}
}
