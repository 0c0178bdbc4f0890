package matrix

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// artefact is one thing that is asked what it needs of a host.
type artefact struct {
	name  string
	facts facts.Facts
}

// gridDrivers are drivers around every limit that the tables have: before and after families' floors, chips' first and
// last branches, releases that are noted for products, and beyond the last branch.
var gridDrivers = strings.Fields(`304.137 340.108 367.134 384.183 390.157 410.48 418.226.00 430.64 440.33.01 440.33 450.51.05 450.80.01
	450.80.02 455.23.04 460.27.03 465.19.01 470.42.01 470.256.02 495.29.05 510.39.01 515.43.04 520.61.05 525.53 525.60.12
	525.60.13 525.147.05 530.30.02 535.54.03 535.183.01 545.23.06 550.54.14 550.40.07 555.42.02 560.28.03 565.57.01 570.86.10
	570.124.06 570.133.19 570.133.20 570.211.01 570.211.02 575.51.02 575.57.07 575.57.08 575.64.05 575.64.06 580.65.06 580.95.05
	590.44.01 595.45.04 610.43.02 615.10 620.5 700.1`)

var gridGPUs = []string{"Tesla K80", "Tesla M60", "Tesla P100-PCIE-16GB", "P40", "Tesla V100-SXM2-16GB", "Tesla T4", "T4G", "A100-SXM4-40GB",
	"A10G", "GeForce RTX 3060", "L4", "L40S", "H100 80GB HBM3", "GH200 480GB", "B200", "GB200", "B300 SXM6 AC",
	"RTX PRO 6000 Blackwell Server Edition", "RTX PRO 4500 Blackwell Server Edition", "GeForce RTX 5090", "GB10",
	"Jetson AGX Orin", "Thor", "7.5", "9.0", "12.0", "8.7"}

// duality counts hosts by what check says of them, and those of which requires says something else.
type duality struct{ admitted, refused, undecided, different int }

// dualityOf asks an artefact's requirement and check about every GPU and every so-many-th driver. Pins take check most
// of its time, and no outcome: TestNoPins.
func dualityOf(t *testing.T, tab *Tables, i, every int, a artefact) (d duality) {
	need := Requires(t.Context(), tab, a.facts, "")
	for j, gpu := range gridGPUs {
		c, _ := version.ParseCapability(gpu)
		if a.facts.System.Windows() && (PlatformOf(tab, Target{GPUs: []string{gpu}}) == "linux_aarch64" || c.Tegra()) {
			continue // no such machine runs Windows' wheels
		}
		of := entry(need, gpu)
		for k := (i + j) % every; k < len(gridDrivers); k += every {
			driver := gridDrivers[k]
			v := Check(t.Context(), tab, stripMachine(a.facts), []Target{{Driver: driver, GPUs: []string{gpu}}}, verdict.Policy{NoPins: true})
			if of == nil || of.Admits(driver) != (v.Outcome == verdict.Compatible) {
				if d.different++; d.different < 4 {
					t.Errorf("%s on %s, %s: requires %+v, check %s: %s", a.name, gpu, driver, of, v.Outcome, errorsOf(v))
				}
			}
			switch v.Outcome {
			case verdict.Compatible:
				d.admitted++
			case verdict.Inconclusive:
				d.undecided++
			default:
				d.refused++
			}
		}
	}
	return d
}

// TestEveryRequirement tests the duality: of every release in the tables, on every driver and GPU, requires admits what
// check calls compatible, and nothing else. CUDACOMPAT_GRID=whole takes them all, releases a part of the drivers; else
// it is a sample.
func TestEveryRequirement(t *testing.T) {
	tab := Embedded()
	list := artefacts(t, tab)
	step, every := 1201, 13 // artefacts and drivers
	switch os.Getenv("CUDACOMPAT_GRID") {
	case "whole":
		step, every = 1, 1
	case "releases": // all of them, each on a part of the drivers
		step = 1
	}
	odd := len(list) - len(oddArtefacts())
	results := make(chan duality)
	core := make(chan struct{}, runtime.GOMAXPROCS(0))
	judged := 0
	for i, a := range list {
		if i%step != 0 && i < odd {
			continue
		}
		judged++
		go func() {
			core <- struct{}{}
			defer func() { <-core }()
			results <- dualityOf(t, tab, i, every, a)
		}()
	}
	var all duality
	for range judged {
		d := <-results
		all.admitted, all.refused = all.admitted+d.admitted, all.refused+d.refused
		all.undecided, all.different = all.undecided+d.undecided, all.different+d.different
	}
	t.Logf("%d artefacts of %d, %d drivers, %d GPUs: %d admitted, %d refused, %d not decided, %d different",
		judged, len(list), len(gridDrivers), len(gridGPUs), all.admitted, all.refused, all.undecided, all.different)
	if all.admitted == 0 || all.refused == 0 || all.undecided == 0 {
		t.Error("the grid shows nothing")
	}
}

func errorsOf(v verdict.Verdict) string {
	var list []string
	for _, f := range v.Findings {
		if f.Severity == verdict.Error {
			list = append(list, f.Rule)
		}
	}
	for _, u := range v.Unknown {
		list = append(list, u.Rule+"?")
	}
	return strings.Join(list, " ")
}

// entry returns what a reader of the JSON takes for a GPU: by its name, else by its capability.
func entry(r requires.Requirement, gpu string) *requires.GPU {
	for i, g := range r.GPUs {
		if slices.Contains(g.Names, gpu) || len(g.Names) == 0 && g.Capability == gpu {
			return &r.GPUs[i]
		}
	}
	return nil
}

// artefacts returns files that name each row of the tables of builds, the same builds as they lie on disk, and what is
// found beside them.
func artefacts(t *testing.T, tab *Tables) []artefact {
	t.Helper()
	var list []artefact
	named := func(text, os, arch string) {
		f, err := probe.Given([]byte(text + "\n"))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		f.System.OS, f.System.Arch = os, arch
		list = append(list, artefact{strings.TrimSpace(text + " " + os + arch), f})
	}
	platform := func(text, platform string) {
		if platform == "win_amd64" {
			named(text, "Microsoft Windows 11", "")
			return
		}
		named(text, "", strings.TrimPrefix(platform, "linux_"))
	}
	for _, r := range tables.Rows[tables.Torch](tab) {
		platform(fmt.Sprintf("torch==%s+%s", r.Release, r.Variant), r.Platform)
		list = append(list, onDisk("torch", r.Wheel, nil))
	}
	for _, r := range tables.Rows[tables.TensorFlow](tab) {
		platform("tensorflow=="+r.Release, r.Platform)
		list = append(list, onDisk("tensorflow", r.Wheel, r.Groups))
	}
	for _, r := range tables.Rows[tables.JAX](tab) {
		platform(fmt.Sprintf("jax[%s]==%s", r.Variant, r.Release), r.Platform)
		list = append(list, onDisk("jax", r.Wheel, nil))
	}
	for _, r := range tables.Rows[tables.Extension](tab) {
		text := r.Package + "==" + r.Release
		if strings.HasPrefix(r.Variant, "cu") {
			text += "+" + r.Variant
		}
		named(text, "", "")
	}
	for _, r := range tables.Rows[tables.Package](tab) {
		named(r.Package+">=0.1", "", "")
	}
	for _, r := range tables.Rows[tables.Container](tab) {
		named("FROM "+r.Image+":"+r.Tag+"\nRUN pip install numpy", "", "")
	}
	return append(list, oddArtefacts()...)
}

// onDisk returns a row's build as it is found on disk, with its code read from the files.
func onDisk(name string, w tables.Wheel, groups version.Groups) artefact {
	b := facts.Build{Name: name, Version: w.Release, CUDA: w.CUDA.String(), Accelerator: "cuda", SASS: w.SASS, PTXISA: map[string]string{}, Path: "/venv/lib/" + name, Looked: true}
	if name == "torch" {
		b.Version += "+" + w.Variant
	}
	for _, p := range w.PTX {
		if p != "none" {
			b.PTX, b.PTXISA[p] = append(b.PTX, p), "8.5"
		}
	}
	for _, g := range groups {
		isa := map[string]string{}
		for target, v := range g.ISA {
			isa[target] = v.String()
		}
		b.Groups = append(b.Groups, facts.CodeGroup{Library: "/venv/lib/" + name + "/a.so", Section: g.Section, Containers: 12, SASS: g.SASS, PTX: g.PTX, PTXISA: isa})
	}
	f := facts.Facts{System: facts.System{Arch: strings.TrimPrefix(w.Platform, "linux_")},
		Environments: []facts.Environment{{Path: "/venv", Python: "3.12.3", Named: true, Builds: []facts.Build{b}}}}
	if w.Platform == "win_amd64" {
		f.System = facts.System{OS: "Microsoft Windows 11"}
	}
	return artefact{fmt.Sprintf("installed %s %s %s", name, b.Version, w.Platform), f}
}

// oddArtefacts returns what tables do not hold: several environments of which one works, code compressed with zstd, a
// cuda-compat library that the loader takes, builds for the processor or for other accelerators, nothing at all.
func oddArtefacts() []artefact {
	build := func(version, cuda string, sass ...string) facts.Build {
		return facts.Build{Name: "torch", Version: version, CUDA: cuda, Accelerator: "cuda", SASS: sass, Path: "/venv/torch"}
	}
	one := func(b ...facts.Build) []facts.Environment {
		return []facts.Environment{{Path: "/venv", Python: "3.12", Active: true, Builds: b}}
	}
	zstd := build("2.6.0+cu126", "12.6", "sm_70", "sm_90")
	zstd.Zstd = []string{"sm_90"}
	cpu := facts.Build{Name: "torch", Version: "2.9.0+cpu", Accelerator: "cpu"}
	rocm := facts.Build{Name: "torch", Version: "2.9.0+rocm6.4", Accelerator: "rocm"}
	onCPU := facts.Build{Name: "xgboost", Version: "3.1.0", Extension: true, Standalone: true, Accelerator: "cuda", CUDA: "13.0", SASS: []string{"sm_90"}}
	part := facts.Build{Name: "vllm-flash-attn", Version: "1", Extension: true, Accelerator: "cuda", CUDA: "12.8", SASS: []string{"sm_90a"}, PartOf: "vllm"}
	damaged := build("2.9.0+cu130", "13.0")
	damaged.Damaged = "cut short"
	ptx := build("2.1.0", "12.9", "sm_50")
	ptx.PTX, ptx.PTXISA = []string{"compute_80"}, map[string]string{"compute_80": "8.8"}
	searchedTwo := []facts.Environment{{Path: "/a", Builds: []facts.Build{build("2.9.0+cu130", "13.0", "sm_75", "sm_90")}},
		{Path: "/b", Builds: []facts.Build{build("2.0.0+cu118", "11.8", "sm_70", "sm_90")}}}
	compat := func(version, cuda string, branches ...int) facts.Driver {
		return facts.Driver{Compat: []facts.Compat{{Name: "libcuda", Version: version, CUDA: cuda, Branches: branches, Taken: true, Reason: "LD_LIBRARY_PATH",
			Path: "/usr/local/cuda/compat/libcuda.so.1", Note: true}}}
	}
	cu130 := one(build("2.9.0+cu130", "13.0", "sm_75", "sm_80", "sm_90", "sm_100"))
	unread := []facts.Unread{{Place: "/venv/lib", Reason: "permission denied", Kind: facts.UnreadNeeded}}
	foreign := build("2.9.0+cu130", "13.0")
	foreign.Arch = "aarch64"
	openTorch, err := probe.Given([]byte("lmdeploy==0.16.0\n")) // its row has code, and torch may be any
	if err != nil {
		panic(err)
	}
	list := map[string]facts.Facts{
		"of another architecture": {System: facts.System{Arch: "x86_64"}, Environments: one(foreign)},
		"an open torch":           openTorch,
		"nothing":                 {},
		"zstd":                    {Environments: one(zstd)},
		"cpu":                     {Environments: one(cpu)},
		"cpu beside cuda":         {Environments: one(cpu, build("2.6.0+cu126", "12.6", "sm_70"))},
		"rocm":                    {Environments: one(rocm)},
		"goes on":                 {Environments: one(onCPU)},
		"goes on beside":          {Environments: one(onCPU, build("2.0.0+cu118", "11.8", "sm_70", "sm_90"))},
		"an optional part":        {Environments: one(part, build("2.0.0+cu118", "11.8", "sm_70", "sm_90"))},
		"damaged":                 {Environments: one(damaged)},
		"PTX alone":               {Environments: one(ptx)},
		"two searched":            {Environments: searchedTwo},
		"compat 580":              {Driver: compat("580.95.05", "13.0", 535, 550, 570), Environments: cu130},
		"compat 580, no note":     {Driver: compat("580.95.05", ""), Environments: cu130},
		"compat, unknown":         {Driver: compat("", ""), Environments: cu130},
		"unread":                  {Environments: cu130, Unread: unread},
		"musl":                    {Environments: one(build("2.9.0+cu130", "13.0", "sm_90")), System: facts.System{Libc: "musl"}},
	}
	var odd []artefact
	// Wheels that open what something else must bring.
	for _, line := range []string{"tensorflow==2.20.0", "onnxruntime-gpu==1.31.1", "ctranslate2==4.8.5"} {
		f, err := probe.Given([]byte(line + "\n"))
		if err != nil {
			panic(err)
		}
		odd = append(odd, artefact{line, f})
	}
	for name, f := range list {
		odd = append(odd, artefact{name, f})
	}
	slices.SortFunc(odd, func(a, b artefact) int { return strings.Compare(a.name, b.name) })
	return odd
}

// needOf returns what requirements need.
func needOf(t *testing.T, lines string) (requires.Requirement, facts.Facts) {
	t.Helper()
	f, err := probe.Given([]byte(lines + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return Requires(context.Background(), Embedded(), f, ""), f
}

// TestRequiredDrivers takes drivers as NVIDIA's and PyTorch's pages have them: CUDA 13 needs 580 (minor-version
// compatibility), cu130 wheels begin with Turing, branch 580 is Volta's last and 470 Kepler's.
func TestRequiredDrivers(t *testing.T) {
	for _, c := range []struct{ lines, gpu, drivers string }{
		{"torch==2.9.0+cu130", "L4", ">= 580.65.06"},
		{"torch==2.9.0+cu130", "V100", "none"},
		{"torch==2.9.0+cu128", "V100", "525.60.13 to branch 580"},
		{"torch==2.7.0+cu118", "K80", "450.80.02 to branch 470"},
		{"torch==2.7.0+cu118", "A10G", ">= 455"},
		{"torch==2.7.0+cu118", "B200", "none"},
		{"torch==2.9.0+cu128", "B200", ">= 570.133.20"},
		{"vllm==0.30.0", "A100", ">= 580.65.06"},
		{"numpy==2.0.0", "Tesla T4", ">= 410"},
	} {
		need, _ := needOf(t, c.lines)
		if got := need.ForGPU(c.gpu).Drivers.String(); got != c.drivers {
			t.Errorf("%s on %s: drivers %s, want %s", c.lines, c.gpu, got, c.drivers)
		}
	}
}

// TestOfImage: what the image must bring refuses no host, and admits none until the image is known to bring it; what
// else is needed of a host is told all the same.
func TestOfImage(t *testing.T) {
	need, _ := needOf(t, "tensorflow==2.20.0")
	with, _ := needOf(t, "tensorflow[and-cuda]==2.20.0")
	for _, gpu := range []string{"A100", "V100", "B200"} {
		got, whole := need.ForGPU(gpu), with.ForGPU(gpu)
		if len(got.Drivers) > 0 || got.Provided.String() != whole.Drivers.String() {
			t.Errorf("%s: admitted %v, provided %v; with its libraries %v", gpu, got.Drivers, got.Provided, whole.Drivers)
		}
	}
	if got := need.ImageNeeds(); !slices.Equal(got, []string{"the libraries of CUDA 12 and cuDNN 9"}) {
		t.Errorf("left to the image: %q", got)
	}
	if got := with.ImageNeeds(); len(got) > 0 {
		t.Errorf("with its libraries, left to the image: %q", got)
	}
	for _, n := range need.Needs {
		if image := n.Rule == "tensorflow-cuda-libs"; image != (n.Kind == requires.OfImage) {
			t.Errorf("%s is of the %s: %s", n.Rule, n.Kind, n.Need)
		}
	}
}

// TestBumps takes four upgrades that people made, and what they cost.
func TestBumps(t *testing.T) {
	driver535 := []Target{{Instance: "p5.48xlarge", Driver: "535.183.01"}, {GPUs: []string{"V100"}}, {Driver: "535.183.01"}}
	for _, c := range []struct {
		old, now string
		kinds    string // of the changes
		lost     []bool // of the targets
	}{
		{"torch==2.9.0+cu128", "torch==2.9.0+cu130", "lost raised gained", []bool{true, true, true}},
		{"vllm==0.11.0", "vllm==0.30.0", "lost raised gained", []bool{true, true, true}},
		// 2.21.0 does not find the cuSOLVER of its own extra.
		{"tensorflow[and-cuda]==2.20.0", "tensorflow[and-cuda]==2.21.0", "unknown", []bool{false, false, false}},
		{"torch==2.9.0+cu130", "torch==2.9.0+cu130", "", []bool{false, false, false}},
	} {
		old, before := needOf(t, c.old)
		now, after := needOf(t, c.now)
		d := requires.Compare(old, now)
		var kinds []string
		for _, change := range d.Changes {
			kinds = append(kinds, change.Kind)
			if (change.Kind == "lost" || change.Kind == "raised") && len(change.Because) == 0 {
				t.Errorf("%s to %s: nothing is named that takes %v away", c.old, c.now, change.GPUs)
			}
		}
		if got := strings.Join(slices.Compact(kinds), " "); got != c.kinds {
			t.Errorf("%s to %s: %s, want %s", c.old, c.now, got, c.kinds)
		}
		for i, target := range CompareTargets(t.Context(), Embedded(), before, after, driver535) {
			if target.Lost() != c.lost[i] {
				t.Errorf("%s to %s: %+v", c.old, c.now, target)
			}
		}
	}
}

// TestBumpToTheUnknown: what is not known of a new release is not called lost; what is known of it is.
func TestBumpToTheUnknown(t *testing.T) {
	old, before := needOf(t, "onnxruntime-gpu[cuda,cudnn]==1.26.0")
	now, after := needOf(t, "onnxruntime-gpu[cuda,cudnn]==1.29.0")
	list := CompareTargets(t.Context(), Embedded(), before, after, []Target{{GPUs: []string{"H100"}, Driver: "590.48.01"}, {GPUs: []string{"H100"}, Driver: "535.183.01"}})
	if list[0].Lost() || !list[0].Old {
		t.Errorf("on 590: %+v", list[0])
	}
	if !list[1].Lost() {
		t.Errorf("on 535, below CUDA 13's floor: %+v", list[1])
	}
	if d := requires.Compare(old, now); len(d.Changes) == 0 {
		t.Error("nothing changed")
	}
}

// TestBumpsAreChecks: on the GPUs and drivers of a grid, four bumps as they were made lose just what check calls
// compatible with the old release and not with the new one. CUDACOMPAT_GRID=whole takes the whole grid.
func TestBumpsAreChecks(t *testing.T) {
	step := 57
	if wholeGrid {
		step = 1
	}
	for _, c := range []struct{ old, now string }{{"onnxruntime-gpu[cuda,cudnn]==1.26.0", "onnxruntime-gpu[cuda,cudnn]==1.29.0"},
		{"torch==2.9.0+cu128", "torch==2.9.0+cu130"}, {"vllm==0.11.0", "vllm==0.30.0"},
		{"tensorflow[and-cuda]==2.20.0", "tensorflow[and-cuda]==2.21.0"}} {
		old, before := needOf(t, c.old)
		now, after := needOf(t, c.now)
		diff := requires.Compare(old, now)
		lost, hosts := 0, 0
		for i, gpu := range gridGPUs {
			change := changeOf(diff, gpu)
			for k := i % step; k < len(gridDrivers); k += step {
				target := Target{Driver: gridDrivers[k], GPUs: []string{gpu}}
				ran, runs := outcomeOn(before, target), outcomeOn(after, target)
				hosts++
				if ran == verdict.Compatible && runs == verdict.Incompatible {
					lost++
				}
				if len(entry(now, gpu).Names) == 0 { // changes are told of products
					continue
				}
				same := change == nil && (ran == verdict.Compatible) == (runs == verdict.Compatible)
				told := change != nil && change.Old.Has(target.Driver) == (ran == verdict.Compatible) && change.New.Has(target.Driver) == (runs == verdict.Compatible)
				if !same && !told {
					t.Errorf("%s to %s on %s, %s: check says %s, then %s; the change is %+v", c.old, c.now, gpu, target.Driver, ran, runs, change)
				}
				if got := CompareTargets(t.Context(), Embedded(), before, after, []Target{target})[0]; got.Lost() != (ran == verdict.Compatible && runs == verdict.Incompatible) {
					t.Errorf("%s to %s on %s, %s: check says %s, then %s; lost: %v", c.old, c.now, gpu, target.Driver, ran, runs, got.Lost())
				}
			}
		}
		t.Logf("%s to %s: %d of %d hosts lost", c.old, c.now, lost, hosts)
	}
}

func changeOf(d requires.Diff, gpu string) *requires.Change {
	for i, c := range d.Changes {
		if slices.Contains(c.GPUs, gpu) {
			return &d.Changes[i]
		}
	}
	return nil
}

func outcomeOn(f facts.Facts, target Target) verdict.Outcome {
	return Check(context.Background(), Embedded(), stripMachine(f), []Target{target}, verdict.Policy{}).Outcome
}

// TestRequiresOfWhatBringsTorch: an xformers that a file names alone stands for the torch that it brings, whose code
// nothing does without.
func TestRequiresOfWhatBringsTorch(t *testing.T) {
	need, _ := needOf(t, "xformers==0.0.33.post2")
	if got := entry(need, "V100").Drivers; len(got) > 0 {
		t.Errorf("on a V100: %v", got)
	}
	if got := entry(need, "A100").Drivers; !got.Has("580.95.05") {
		t.Errorf("on an A100: %v", got)
	}
}
