package matrix

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// machinesWithoutSet is how many sets of the grid have no answer; the test fails when one grows. Those of torch and JAX
// were counted by a second program, too, which reads only the tables: of 24 drivers × 18 capabilities × 6 Pythons,
// 1,134 pairs in which the driver does not drive the GPU, and those in which no wheel has machine code for it, or
// none that the driver runs. TensorFlow's include the GPUs that one section of its library does not serve, and
// were counted again when driver 620 made them 25 drivers: of its 324 sets 195 have no answer.
var machinesWithoutSet = map[string]int{"torch": 1981, "tensorflow": 4798, "jax": 2781}

// TestEverySetPasses takes every driver branch × GPU × Python, installs each set that is proposed, driver and all,
// and asks the checker: there must be no error. It prints how many machines have no set, and why.
func TestEverySetPasses(t *testing.T) {
	known := Embedded()
	for _, framework := range Frameworks() {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			grid, asked, without, reasons := 0, 0, 0, map[string]int{}
			for _, driver := range driversOf(known) {
				for _, gpu := range capabilitiesOf(known) {
					for _, python := range []string{"3.9", "3.10", "3.11", "3.12", "3.13", "3.14"} {
						if !inSample(&grid) {
							continue
						}
						node := machineWith(driver, gpu, python, "")
						node.Environments[0].Builds = nil
						pins := Pins(known, node, Target{}, pin.Wanted{Framework: framework})
						checkSets(t, known, node, nil, pins)
						asked += len(pin.Choices())
						without += len(pins.Missing)
						for _, none := range pins.Missing {
							reasons[string(none.Choice)+": "+setReason(none.Why)]++
						}
					}
				}
			}
			t.Logf("%d sets asked for, %d without an answer:", asked, without)
			for _, why := range sortedKeys(reasons) {
				t.Logf("  %5d  %s", reasons[why], why)
			}
			if wholeGrid && without > machinesWithoutSet[framework] {
				t.Errorf("%d sets without an answer, %d had none before: a row is lost or a rule is stricter", without,
					machinesWithoutSet[framework])
			}
		})
	}
}

// TestEverySetPassesOnInstances does so for one size of every kind of EC2 instance: products that need a later driver
// than their chip, and aarch64.
func TestEverySetPassesOnInstances(t *testing.T) {
	known := Embedded()
	grid, drivers := 0, append(driversOf(known), "570.86.10", "575.51.03", "580.65.06")
	kinds := map[string]bool{}
	for _, i := range tables.Rows[tables.Instance](known) {
		if kind := i.GPU + " " + i.Platform; !kinds[kind] {
			kinds[kind] = true
			t.Run(i.Instance, func(t *testing.T) {
				for _, framework := range Frameworks() {
					for _, driver := range drivers {
						if !inSample(&grid) {
							continue
						}
						node := machineWith(driver, version.Capability{}, "3.12", "")
						node.GPUs, node.System.Arch, node.Environments[0].Builds = nil, strings.TrimPrefix(i.Platform, "linux_"), nil
						target := Target{Instance: i.Instance}
						checkSets(t, known, node, []Target{target}, Pins(known, node, target, pin.Wanted{Framework: framework}))
					}
				}
			})
		}
	}
}

func setReason(why string) string {
	if strings.Contains(why, " does not drive ") {
		return "the driver does not drive the GPU"
	}
	return reasonKind(why)
}

// checkSets installs each set and judges again.
func checkSets(t *testing.T, known *Tables, node facts.Facts, targets []Target, pins pin.Sets) {
	t.Helper()
	for _, s := range pins.Sets {
		for _, f := range Check(context.Background(), known, installSet(node, s, pins.Target.Framework), targets,
			verdict.Policy{}).Findings {
			if f.Severity == verdict.Error {
				t.Errorf("%+v: the set %s (driver %q, %v) does not pass: %s: %s", pins.Target, s.Choice, s.Driver, s.Packages,
					f.Rule, f.Message)
			}
		}
		if s.Choice == pin.KeepDriver && s.Driver != "" {
			t.Errorf("driver %s: keep-driver changes it to %s", node.Driver.Version, s.Driver)
		}
		if s.Why == "" || len(s.Source) == 0 || s.Commands["pip"] == "" || s.Commands["uv"] == "" ||
			s.Driver != "" && s.Commands["apt"]+s.Commands["dnf"] == "" && len(s.Steps) == 0 {
			t.Errorf("the set %s of %v lacks a reason, a source or a command: %+v", s.Choice, pins.Target, s)
		}
	}
}

// installSet returns the machine once a set is installed there.
func installSet(node facts.Facts, s pin.Set, framework string) facts.Facts {
	if s.Driver != "" {
		node.Driver.Version = s.Driver
	}
	if s.Choice == pin.ForwardCompat {
		node.Driver.Compat = []facts.Compat{compatOf(s)}
	}
	env := node.Environments[0]
	build := facts.Build{Name: framework, Version: s.Packages[0].Version, Origin: "wheel"}
	if cuda, ok := strings.CutPrefix(s.Packages[0].Package, "jax[cuda"); ok {
		build.CUDA = strings.TrimSuffix(cuda, "]")
	}
	env.Builds = []facts.Build{build}
	env.Packages = nil
	for _, p := range s.Packages[1:] {
		env.Packages = append(env.Packages, facts.Package{Name: p.Package, Version: p.Version})
	}
	node.Environments = []facts.Environment{env}
	return node
}

// compatOf returns the library of the cuda-compat package that a set installs, as the loader takes it.
func compatOf(s pin.Set) facts.Compat {
	for _, row := range tables.Rows[tables.Forward](Embedded()) {
		if strings.Contains(s.Commands["apt"], row.Package) {
			return facts.Compat{Name: "libcuda", Version: row.Branch + ".65.06", Path: "/usr/local/cuda/compat/libcuda.so.1",
				Taken: true, Reason: "LD_LIBRARY_PATH"}
		}
	}
	return facts.Compat{}
}

// TestSetsByHand holds sets that people have worked out from the release matrices and NVIDIA's driver table.
func TestSetsByHand(t *testing.T) {
	for _, c := range []struct {
		name, driver, gpu, python string
		want                      pin.Wanted
		sets                      []string // choice, driver, packages
	}{
		{"535-wants-2.9", "535.183.01", "9.0", "3.12", pin.Wanted{Framework: "torch", Release: "2.9.0"}, []string{
			"keep-driver  torch==2.9.0+cu126 torchvision==0.24.0+cu126 torchaudio==2.9.0+cu126 triton==3.5.0",
			"smallest-driver  torch==2.9.0+cu126 torchvision==0.24.0+cu126 torchaudio==2.9.0+cu126 triton==3.5.0",
			"newest 620.70.06 torch==2.15.0+cu132 torchvision==0.29.2+cu132 triton==3.9.0"}},
		{"470-wants-2.9", "470.239.06", "7.5", "3.12", pin.Wanted{Framework: "torch", Release: "2.9.0"}, []string{
			"keep-driver  torch==2.7.1+cu118 torchvision==0.22.1+cu118 torchaudio==2.7.1+cu118 triton==3.3.1",
			"smallest-driver 580.178.04 torch==2.9.0+cu130 torchvision==0.24.0+cu130 torchaudio==2.9.0+cu130 triton==3.5.0",
			"newest 620.70.06 torch==2.15.0+cu132 torchvision==0.29.2+cu132 triton==3.9.0"}},
		{"v100-drops-after-580", "535.183.01", "7.0", "3.12", pin.Wanted{Framework: "torch", Release: ""}, []string{
			"keep-driver  torch==2.14.1+cu126 torchvision==0.29.1+cu126 torchaudio==2.11.0+cu126 triton==3.8.0",
			"smallest-driver  torch==2.14.1+cu126 torchvision==0.29.1+cu126 torchaudio==2.11.0+cu126 triton==3.8.0",
			"newest 580.178.04 torch==2.14.1+cu126 torchvision==0.29.1+cu126 torchaudio==2.11.0+cu126 triton==3.8.0"}},
		{"jax-pascal-needs-older-cudnn", "535.183.01", "6.1", "3.12", pin.Wanted{Framework: "jax", Release: "0.6.2"}, []string{
			"keep-driver  jax[cuda12]==0.6.2 nvidia-cudnn-cu12==9.10.2.21",
			"smallest-driver  jax[cuda12]==0.6.2 nvidia-cudnn-cu12==9.10.2.21",
			"newest 580.178.04 jax[cuda12]==0.12.0.1 nvidia-cudnn-cu12==9.10.2.21"}},
		{"tensorflow-2.14-is-not-for-3.11", "470.239.06", "8.0", "3.11", pin.Wanted{Framework: "tensorflow", Release: "2.18.0"}, []string{
			"smallest-driver 580.178.04 tensorflow[and-cuda]==2.18.0",
			"newest 620.70.06 tensorflow[and-cuda]==2.20.0"}},
		{"tensorflow-470", "470.239.06", "8.0", "3.10", pin.Wanted{Framework: "tensorflow", Release: "2.18.0"}, []string{
			"keep-driver  tensorflow[and-cuda]==2.14.1",
			"smallest-driver 580.178.04 tensorflow[and-cuda]==2.18.0",
			"newest 620.70.06 tensorflow[and-cuda]==2.20.0"}},
		{"a-driver-that-cannot-compile-the-PTX", "520.61.05", "9.0", "3.12", pin.Wanted{Framework: "tensorflow", Release: ""}, []string{
			"smallest-driver 580.178.04 tensorflow[and-cuda]==2.20.0",
			"newest 620.70.06 tensorflow[and-cuda]==2.20.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := machineWith(c.driver, capability(t, c.gpu), c.python, "")
			node.Environments[0].Builds = nil
			var got []string
			for _, s := range Pins(Embedded(), node, Target{}, c.want).Sets {
				line := string(s.Choice) + " " + s.Driver
				for _, p := range s.Packages {
					line += " " + p.Package + "==" + p.Version
				}
				got = append(got, line)
			}
			if !slices.Equal(got, c.sets) {
				t.Errorf("sets are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.sets, "\n"))
			}
		})
	}
}
