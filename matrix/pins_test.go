package matrix

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// broken lists builds, each of which about half of all machines cannot run.
var broken = []string{"2.14.1+cu130", "2.7.1+cu128", "1.13.1+cu117", "2.9.0+cpu"}

// wholeGrid reports whether to try every machine of the grids (make grid) and not a sample (make test).
var wholeGrid = os.Getenv("CUDACOMPAT_GRID") == "whole"

// inSample counts a machine of a grid and reports whether to try it. A sample takes each 47th, a prime, so that it
// meets every driver, GPU and Python.
func inSample(count *int) bool {
	*count++
	return wholeGrid || *count%47 == 1
}

// pairsWithoutTorch is the number of machines in the grid that have no torch to pin. The test fails if it grows. 208 of
// them are Blackwell GPUs under older drivers, which cannot exist: the NVML that shows the GPU is believed. 408 have a
// GPU that the driver has dropped beside a build without code for it; both are reported.
const pairsWithoutTorch = 3744

// TestEveryPinPasses takes every driver branch × GPU × Python with a build that cannot run there, installs the pin, and
// checks again: the pin must run. It prints how many machines have no torch at all.
func TestEveryPinPasses(t *testing.T) {
	t.Parallel()
	known := Embedded()
	grid, without := 0, map[string]int{}
	for _, driver := range driversOf(known) {
		for _, gpu := range capabilitiesOf(known) {
			for _, python := range []string{"3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"} {
				for _, build := range broken {
					if !inSample(&grid) {
						continue
					}
					node := machineWith(driver, gpu, python, build)
					if why := checkPins(t, known, node, python); why != "" {
						without[why]++
					}
				}
			}
		}
	}
	total := 0
	for _, n := range without {
		total += n
	}
	t.Logf("%d machines, %d of them have an error and no torch to pin:", grid, total)
	for _, why := range sortedKeys(without) {
		t.Logf("  %5d  %s", without[why], why)
	}
	if wholeGrid && total > pairsWithoutTorch {
		t.Errorf("%d machines have no torch to pin, %d had none before: a row is lost or a rule is stricter", total,
			pairsWithoutTorch)
	}
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// driversOf returns the newest release of every branch since 418.
func driversOf(known *Tables) []string {
	var list []string
	for _, b := range tables.Rows[tables.Branch](known) {
		if b.Newest.Known() && b.Newest.Major() >= 418 {
			list = append(list, b.Newest.String())
		}
	}
	return list
}

// capabilitiesOf returns every compute capability except those of Tegra modules.
func capabilitiesOf(known *Tables) []version.Capability {
	var list []version.Capability
	for _, chip := range tables.Rows[tables.Chip](known) {
		if !chip.Capability.Tegra() && !slices.Contains(list, chip.Capability) {
			list = append(list, chip.Capability)
		}
	}
	return list
}

// machineWith returns a Linux host with one GPU, one driver and one environment with one torch.
func machineWith(driver string, gpu version.Capability, python, torch string) facts.Facts {
	return facts.Facts{
		System: facts.System{Arch: "x86_64", ID: "ubuntu", Libc: "2.35"},
		Driver: facts.Driver{Version: driver, From: "/proc/driver/nvidia/version"},
		GPUs:   []facts.GPU{{Name: "GPU", Capability: gpu.String(), From: []string{"NVML"}}},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: python, Active: true,
			Builds: []facts.Build{{Name: "torch", Version: torch, Origin: "wheel"}}}},
	}
}

// checkPins installs each pin of each error and judges again. It returns why an error of a build has no torch pin.
func checkPins(t *testing.T, known *Tables, node facts.Facts, python string) (without string) {
	t.Helper()
	for _, f := range Check(context.Background(), known, node, nil, verdict.Policy{}).Findings {
		if f.Severity != verdict.Error {
			continue
		}
		if len(f.Pins)+len(f.Do) == 0 {
			t.Errorf("%s on %s: an error without a pin and without anything to do", f.Rule, describe(node))
		}
		torch := false
		for _, p := range f.Pins {
			mended := install(node, p)
			torch = torch || p.Package == "torch"
			for _, again := range Check(context.Background(), known, mended, nil, verdict.Policy{}).Findings {
				if again.Severity == verdict.Error && (p.Package == "torch" && again.Subject != "driver" || again.Rule == f.Rule) {
					t.Errorf("%s on %s: the pin %s %s does not pass: %s: %s", f.Rule, describe(node), p.Package, p.Version,
						again.Rule, again.Message)
				}
			}
		}
		if !torch && strings.HasPrefix(f.Subject, "torch") {
			without = strings.Join(f.Do, "; ")
			if without == "" {
				t.Errorf("%s on %s: neither a torch pin nor a reason why there is none", f.Rule, describe(node))
			}
			without = reasonKind(without)
		}
	}
	return without
}

// reasonKind groups the reasons by the part of the machine that has no wheel.
func reasonKind(why string) string {
	for words, kind := range map[string]string{"has machine code for": "GPU", "runs on ": "driver",
		"is for Python": "Python", "is for glibc": "glibc"} {
		if strings.Contains(why, words) {
			return "no wheel for its " + kind
		}
	}
	return why
}

func install(node facts.Facts, p verdict.Pin) facts.Facts {
	mended := node
	if p.Package == "driver" {
		mended.Driver.Version = p.Version
		return mended
	}
	if strings.HasPrefix(p.Package, "cuda-compat-") {
		row := forwardPackage(Embedded(), p.Package)
		mended.Driver.Compat = []facts.Compat{{Version: row.Branch + ".99", Path: "/usr/local/cuda/compat/libcuda.so.1",
			Taken: true, Reason: "LD_LIBRARY_PATH"}}
		return mended
	}
	env := node.Environments[0]
	env.Builds = []facts.Build{{Name: p.Package, Version: p.Version, Origin: "wheel"}}
	mended.Environments = []facts.Environment{env}
	return mended
}

func describe(f facts.Facts) string {
	return fmt.Sprintf("driver %s, GPU %s, Python %s, torch %s", f.Driver.Version, f.GPUs[0].Capability,
		f.Environments[0].Python, f.Environments[0].Builds[0].Version)
}

// TestPinsByHand compares the first torch pin with one that people worked out from PyTorch's release matrix, NVIDIA's
// driver table and the wheels' own architecture lists, because the checker cannot judge itself.
func TestPinsByHand(t *testing.T) {
	for _, c := range []struct{ driver, gpu, python, libc, build, want string }{
		// 418 and 440 run exactly their own CUDA, without minor-version compatibility.
		{"440.118.02", "7.0", "3.8", "2.31", "1.12.1+cu116", "1.12.1+cu102"},
		{"440.118.02", "6.1", "3.10", "2.31", "1.12.1+cu113", "1.12.1+cu102"},
		{"440.118.02", "7.5", "3.9", "2.31", "1.11.0+cu113", "1.11.0+cu102"},
		// 450 to 520 run only CUDA 11. 2.7.1+cu118 is the last build for glibc 2.28, and 2.6.0+cu118 the last before
		// it.
		{"450.248.02", "8.0", "3.10", "2.31", "2.8.0+cu128", "2.7.1+cu118"},
		{"450.248.02", "8.0", "3.10", "2.27", "2.8.0+cu128", "2.6.0+cu118"},
		{"460.106.00", "7.5", "3.11", "2.35", "2.9.0+cu126", "2.7.1+cu118"},
		{"470.239.06", "7.5", "3.12", "2.35", "2.8.0+cu128", "2.7.1+cu118"},
		{"470.239.06", "7.5", "3.13", "2.35", "2.14.1+cu130", "2.7.1+cu118"},
		{"470.239.06", "7.5", "3.9", "2.17", "2.8.0+cu128", "2.6.0+cu118"},
		{"470.256.02", "7.0", "3.10", "2.35", "2.5.1+cu124", "2.5.1+cu118"},
		{"470.256.02", "8.6", "3.11", "2.35", "2.4.1+cu121", "2.4.1+cu118"},
		{"510.108.03", "8.0", "3.10", "2.31", "2.1.2+cu121", "2.1.2+cu118"},
		{"515.105.01", "8.6", "3.10", "2.31", "2.7.0+cu126", "2.7.0+cu118"},
		{"520.61.05", "8.9", "3.11", "2.35", "2.6.0+cu124", "2.6.0+cu118"},
		{"520.61.05", "9.0", "3.10", "2.35", "2.6.0+cu126", "2.6.0+cu118"},
		// 525 to 575 run every CUDA 12 wheel and none of CUDA 13. The nearest to the driver's own CUDA comes first.
		{"525.147.05", "8.0", "3.12", "2.35", "2.14.1+cu130", "2.14.1+cu126"},
		{"525.147.05", "7.5", "3.11", "2.35", "2.9.0+cu130", "2.9.0+cu126"},
		{"535.183.01", "8.9", "3.12", "2.35", "2.9.0+cu130", "2.9.0+cu126"},
		{"535.183.01", "7.0", "3.12", "2.35", "2.10.0+cu130", "2.10.0+cu126"},
		{"535.183.01", "9.0", "3.13", "2.35", "2.14.0+cu132", "2.14.0+cu126"},
		{"535.309.01", "6.1", "3.11", "2.35", "2.13.0+cu130", "2.13.0+cu126"},
		{"535.183.01", "8.6", "3.10", "2.27", "2.9.0+cu130", "2.6.0+cu124"},
		{"550.163.01", "9.0", "3.12", "2.35", "2.12.0+cu130", "2.12.0+cu126"},
		{"550.54.15", "8.0", "3.14", "2.35", "2.9.0+cu130", "2.9.0+cu126"},
		{"560.35.03", "5.2", "3.10", "2.35", "2.14.1+cu130", "2.14.1+cu126"},
		{"570.133.20", "9.0", "3.12", "2.35", "2.11.0+cu130", "2.11.0+cu128"},
		{"570.133.20", "10.0", "3.12", "2.35", "2.9.1+cu130", "2.9.1+cu128"},
		{"570.211.01", "12.0", "3.12", "2.35", "2.11.0+cu130", "2.11.0+cu128"},
		{"570.124.06", "12.0", "3.11", "2.35", "2.6.0+cu126", "2.7.0+cu128"},
		{"570.124.04", "12.0", "3.12", "2.35", "2.7.1+cu126", "2.7.1+cu128"},
		{"575.57.08", "10.0", "3.12", "2.39", "2.10.0+cu130", "2.10.0+cu129"},
		{"575.57.08", "7.5", "3.12", "2.35", "2.14.1+cu130", "2.14.1+cu126"},
		// 580 and newer run everything. The code that a wheel lacks for a GPU decides.
		{"580.95.05", "6.0", "3.12", "2.35", "2.9.0+cu130", "2.9.0+cu126"},
		{"580.95.05", "7.0", "3.12", "2.35", "2.9.0+cu130", "2.9.0+cu129"}, // cu129 has sm_70 by the build script alone, cu128 by the wheel
		{"580.95.05", "7.0", "3.12", "2.35", "2.14.1+cu130", "2.14.1+cu126"},
		{"580.95.05", "6.1", "3.12", "2.35", "2.8.0+cu128", "2.8.0+cu126"},
		{"580.95.05", "5.2", "3.13", "2.35", "2.10.0+cu130", "2.10.0+cu126"},
		{"580.126.18", "12.0", "3.14", "2.39", "2.14.1+cu126", "2.14.1+cu130"},
		{"590.48.01", "10.0", "3.12", "2.39", "2.9.0+cu126", "2.9.0+cu130"},
		{"595.91.07", "9.0", "3.12", "2.35", "2.14.1+cpu", "2.14.1+cu132"},
		{"610.57.04", "8.0", "3.11", "2.35", "2.14.1+cpu", "2.14.1+cu132"},
		{"580.95.05", "8.9", "3.12", "2.35", "2.14.1+cpu", "2.14.1+cu130"},
		{"535.183.01", "8.6", "3.12", "2.35", "1.13.1+cu117", "2.2.0+cu121"},
		// Wheels keep sm_37 for a K80 up to 2.7.1, but their cuDNN 9, since 2.4, begins at 5.0.
		{"470.239.06", "3.7", "3.10", "2.31", "2.6.0+cu124", "2.3.1+cu118"},
	} {
		node := machineWith(c.driver, capability(t, c.gpu), c.python, c.build)
		node.System.Libc = c.libc
		if got := firstTorchPin(Check(context.Background(), Embedded(), node, nil, verdict.Policy{})); got != c.want {
			t.Errorf("%s, glibc %s: the first torch pin is %q, want %q", describe(node), c.libc, got, c.want)
		}
	}
}

func capability(t *testing.T, text string) version.Capability {
	t.Helper()
	c, err := version.ParseCapability(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func firstTorchPin(v verdict.Verdict) string {
	for _, f := range v.Findings {
		for _, p := range f.Pins {
			if p.Package == "torch" {
				return p.Version
			}
		}
	}
	return ""
}

func forwardPackage(t *Tables, name string) *tables.Forward {
	rows := tables.Rows[tables.Forward](t)
	return &rows[slices.IndexFunc(rows, func(r tables.Forward) bool { return r.Package == name })]
}
