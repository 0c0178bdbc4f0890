package offer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cudacompat/internal/tables/frozen"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

var _ = frozen.Use()

// TestSpaceEqualsPins compares the Space with pins for single hosts at every break, just below it and between.
func TestSpaceEqualsPins(t *testing.T) {
	known, ctx := matrix.Embedded(), context.Background()
	random := rand.New(rand.NewPCG(60, 1))
	for _, want := range []string{"torch", "jax"} {
		space := Space(ctx, known, probe.Facts{}, pin.Want{Package: want}, "3.12")
		if len(space.Groups) < 50 || len(space.Breaks) < 17 {
			t.Errorf("%s has %d groups and %d breaks: some are lost", want, len(space.Groups), len(space.Breaks))
		}
		for i := range space.Groups {
			g := &space.Groups[i]
			target := targetIn(g, random)
			for _, driver := range driversAround(space.Breaks) {
				if random.IntN(60) > 0 {
					continue
				}
				target.Driver = driver
				sets := Sets(ctx, known, probe.Facts{}, target, []pin.Want{{Package: want}})
				label := ""
				if len(sets.Target.GPUs) > 0 {
					label = sets.Target.GPUs[0]
				}
				got, want := filled(space.Answers[g.On(driver)], driver, label), filled(pin.Answer{Sets: sets.Sets, Missing: sets.Missing}, "", "")
				if got != want {
					t.Fatalf("%+v:\nspace %s\npins  %s", target, got, want)
				}
			}
		}
	}
}

func targetIn(g *pin.HostGroup, random *rand.Rand) matrix.Target {
	switch {
	case len(g.GPUs) > 0:
		return matrix.Target{GPUs: []string{g.GPUs[random.IntN(len(g.GPUs))]}, Python: "3.12"}
	case len(g.Instances) > 0:
		return matrix.Target{Instance: g.Instances[random.IntN(len(g.Instances))], Python: "3.12"}
	}
	return matrix.Target{GPUs: []string{g.Capability}, Python: "3.12"}
}

// driversAround returns the breaks, a driver just below each and one between each and the next, bare branches, and no
// driver.
func driversAround(breaks []string) []string {
	list := []string{"", "450", "525", "550", "570", "580", "620", "100.1", "999.9"}
	for _, b := range breaks {
		n := version.ParseOrZero(b)
		list = append(list, b, fmt.Sprintf("%d.999.99", n.Major()-1), fmt.Sprintf("%d.%d.999", n.Major(), n.Minor()))
		if n.Minor() > 0 {
			list = append(list, fmt.Sprintf("%d.%d.99", n.Major(), n.Minor()-1))
		}
	}
	return list
}

// filled returns an answer as JSON, with a host's own words.
func filled(a pin.Answer, driver, label string) string {
	data, _ := json.Marshal(a)
	quoted, _ := json.Marshal(label)
	return strings.NewReplacer(pin.DriverWord, driver, pin.GPUWord, strings.Trim(string(quoted), `"`)).Replace(string(data))
}

// TestSpaceReadsNothing computes a Space twice, with other Pythons, libraries and directories around, and compares the
// bytes.
func TestSpaceReadsNothing(t *testing.T) {
	here := probe.Facts{}
	space := func() []byte {
		data, err := json.Marshal(Space(context.Background(), matrix.Embedded(), here, pin.Want{Package: "tensorflow"}, "3.11"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := space()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("VIRTUAL_ENV", t.TempDir())
	t.Setenv("LD_LIBRARY_PATH", t.TempDir())
	t.Setenv("CUDA_VISIBLE_DEVICES", "-1")
	t.Chdir(t.TempDir())
	if !bytes.Equal(first, space()) {
		t.Error("a Space depends on the machine that works it out")
	}
	here.System = facts.System{OS: "linux", Arch: "aarch64", Kernel: "4.18.0-553.el8", Libc: "2.17", WSL: true}
	here.Environments = []facts.Environment{{Path: "/usr", Python: "3.6.8", Active: true}}
	if !bytes.Equal(first, space()) {
		t.Error("a Space depends on the kernel, the C library or the Python of the machine that works it out")
	}
}

// TestEngineSets checks that an engine has three sets: one for the present driver and two for newer ones.
func TestEngineSets(t *testing.T) {
	sets := Sets(context.Background(), matrix.Embedded(), probe.Facts{},
		matrix.Target{GPUs: []string{"L4"}, Driver: "550.90.07", Python: "3.12"}, []pin.Want{{Package: "vllm"}})
	var got []string
	for _, s := range sets.Sets {
		got = append(got, fmt.Sprintf("%s %s %t", s.Choice, s.Packages[0].Package, s.Driver != ""))
	}
	want := "keep-driver vllm false, smallest-driver vllm true, newest vllm true"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if old, now := sets.Sets[0].Packages[0].Version, sets.Sets[2].Packages[0].Version; !version.ParseOrZero(old).Less(version.ParseOrZero(now)) {
		t.Errorf("keep-driver has %s, newest %s", old, now)
	}
}

// TestForwardCompat checks that a data-centre GPU with an old driver gets a newer release through cuda-compat, and a
// GeForce does not.
func TestForwardCompat(t *testing.T) {
	has := func(gpu string) bool {
		for _, s := range Sets(context.Background(), matrix.Embedded(), probe.Facts{}, matrix.Target{GPUs: []string{gpu}, Driver: "535.183.01", Python: "3.12"}, []pin.Want{{Package: "torch"}}).Sets {
			if s.Choice == pin.ForwardCompat {
				return s.Driver == "" && strings.Contains(s.Commands["apt"], "cuda-compat-") && s.Commands["pip"] != ""
			}
		}
		return false
	}
	if !has("H100") || has("RTX 4090") {
		t.Errorf("H100 %v, RTX 4090 %v: want true and false", has("H100"), has("RTX 4090"))
	}
}

// TestWindows checks that sets for Windows have Windows wheels and minimum drivers, and no Linux way to a driver.
func TestWindows(t *testing.T) {
	windows := probe.Facts{System: facts.System{OS: facts.Windows}}
	for _, c := range []struct{ gpu, driver, want, sets string }{
		{"L4", "551.61", "torch", "keep-driver +cu126, smallest-driver +cu132 580, newest +cu132 580"}, // 2.15 has no cu126
		{"L4", "528.24", "torch", "keep-driver +cu118, smallest-driver +cu132 580, newest +cu132 580"}, // 12.x needs 528.33
		{"RTX 5090", "551.61", "torch", "smallest-driver +cu132 580, newest +cu132 580"},
		{"V100", "582.10", "torch", "keep-driver +cu126, smallest-driver +cu126, newest +cu126"}, // of branch 580, the last for Volta
		{"V100", "591.44", "torch", "smallest-driver +cu126 528.33, newest +cu126 528.33"},
		{"L4", "581.57", "jax", ""},
		{"L4", "581.57", "vllm", ""},
		{"GH200", "581.57", "torch", ""},
	} {
		sets := Sets(context.Background(), matrix.Embedded(), windows, matrix.Target{GPUs: []string{c.gpu}, Driver: c.driver, Python: "3.12"}, []pin.Want{{Package: c.want}})
		var got []string
		for _, s := range sets.Sets {
			_, variant, _ := strings.Cut(s.Packages[0].Version, "+")
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s +%s %s", s.Choice, variant, s.Driver)))
			text, _ := json.Marshal(s)
			for _, word := range []string{"apt", "dnf", ".run", "triton", "linux-headers", "Deep Learning AMI", "580.65.06"} {
				if strings.Contains(string(text), word) {
					t.Errorf("%s, driver %s, Windows: %s", c.gpu, c.driver, text)
				}
			}
			if s.Driver != "" && (len(s.Steps) != 1 || !strings.Contains(s.Steps[0].Say, s.Driver+" or newer")) {
				t.Errorf("%s, driver %s: no way to the driver in %s", c.gpu, c.driver, text)
			}
		}
		if strings.Join(got, ", ") != c.sets {
			t.Errorf("%s, driver %s, %s: %s, want %s", c.gpu, c.driver, c.want, strings.Join(got, ", "), c.sets)
		}
		if c.sets == "" && (len(sets.Missing) != 3 || !strings.Contains(sets.Missing[0].Why, "WSL2")) {
			t.Errorf("%s, %s: %+v does not say where it runs", c.gpu, c.want, sets.Missing)
		}
	}
}

// TestEnds checks what ends for a GPU, its driver and the framework.
func TestEnds(t *testing.T) {
	for _, c := range []struct{ gpu, driver, want, ends string }{
		{"P100", "550.90.07", "torch", "driver 550 2025-04-17, gpu-driver 580 2028-06, gpu-code 2.14.1 "},
		{"L4", "550.90.07", "torch", "driver 550 2025-04-17"},
		{"L4", "", "torch", ""},
		{"V100", "620.70.06", "vllm", "driver 620 2029-09, gpu-driver 580 2028-06"},
	} {
		sets := Sets(context.Background(), matrix.Embedded(), probe.Facts{}, matrix.Target{GPUs: []string{c.gpu}, Driver: c.driver, Python: "3.12"}, []pin.Want{{Package: c.want}})
		var got []string
		for _, e := range sets.Ends {
			got = append(got, fmt.Sprint(string(e.Kind), " ", e.Last, " ", e.Date))
			if e.Why == "" || len(e.Source) == 0 {
				t.Errorf("%+v has no reason or no source", e)
			}
		}
		if strings.Join(got, ", ") != c.ends {
			t.Errorf("%s, driver %s, %s: %q, want %q", c.gpu, c.driver, c.want, strings.Join(got, ", "), c.ends)
		}
	}
}
