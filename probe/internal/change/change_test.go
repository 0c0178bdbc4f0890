package change

import (
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const site = "/opt/venv/lib/python3.12/site-packages/"

// torch returns one that loads the cuDNN of a wheel, which it pins.
func torch() facts.Build {
	return facts.Build{Name: "torch", Version: "2.6.0+cu124", Path: site + "torch",
		Requires: map[string]string{"nvidia-cudnn-cu12": "9.1.0.70", "nvidia-nvjitlink-cu12": "12.4.127"},
		Taken:    []facts.Taken{{Name: "libcudnn.so.9", Version: "9.1.0", Path: site + "nvidia/cudnn/lib/libcudnn.so.9"}}}
}

func planned(list ...string) []facts.Planned {
	var all []facts.Planned
	for i := 0; i < len(list); i += 2 {
		all = append(all, facts.Planned{Name: list[i], Version: list[i+1]})
	}
	return all
}

func apply(plan facts.Plan, coming facts.Environment, builds ...facts.Build) facts.Environment {
	c := Change{Plan: plan, Coming: coming,
		Files: map[string]string{site + "nvidia/cudnn/lib/libcudnn.so.9": "nvidia-cudnn-cu12"}}
	before := facts.Environment{Path: "/opt/venv", Python: "3.12", Named: true, Builds: builds}
	left := before
	left.Builds = nil
	for _, b := range builds {
		if _, goes := plan.Removed(b.Name); !goes {
			if _, goes := plan.Removed("nvidia-cudnn-cu12"); goes && b.Name == "torch" {
				b.Taken, b.Missing = nil, []string{"libcudnn.so.9"}
			}
			left.Builds = append(left.Builds, b)
		}
	}
	return c.Apply(before, left)
}

func TestUntouchedIsAsItWasRead(t *testing.T) {
	after := apply(facts.Plan{Installs: planned("requests", "2.0")}, facts.Environment{}, torch())
	if diff := cmp.Diff([]facts.Build{torch()}, after.Builds); diff != "" {
		t.Error(diff)
	}
}

func TestRemovedLibraryIsMissing(t *testing.T) {
	after := apply(facts.Plan{Removes: planned("nvidia-cudnn-cu12", "9.1.0.70")}, facts.Environment{}, torch())
	if b := after.Builds[0]; len(b.Missing) != 1 || len(b.Taken) != 0 || b.Open != nil {
		t.Errorf("%+v", b)
	}
}

func TestReplacedLibraryIsOpenUnlessPinned(t *testing.T) {
	for coming, open := range map[string]map[string]string{"9.1.0.70": nil, "9.9.0.52": {"nvidia-cudnn-cu12": "9.9.0.52"}} {
		after := apply(facts.Plan{Removes: planned("nvidia-cudnn-cu12", "9.0.0.1"),
			Installs: planned("nvidia-cudnn-cu12", coming)}, facts.Environment{}, torch())
		b := after.Builds[0]
		if diff := cmp.Diff(open, b.Open); diff != "" || len(b.Missing) != 0 || len(b.Taken) != 0 {
			t.Errorf("cuDNN %s: %+v\n%s", coming, b, diff)
		}
	}
}

// TestReplacedLibraryOfALibrary checks torch for CUDA 13, which pins no nvJitLink although cuSPARSE links to it: the
// library is missing while it is replaced, and present in another release afterwards.
func TestReplacedLibraryOfALibrary(t *testing.T) {
	before := facts.Build{Name: "torch", Version: "2.12.1+cu130"}
	without := before
	without.Missing = []string{"libnvJitLink.so.13"}
	c := Change{Files: map[string]string{site + "nvidia/cu13/lib/libnvJitLink.so.13": "nvidia-nvjitlink"},
		Plan: facts.Plan{Removes: planned("nvidia-nvjitlink", "13.0.88"), Installs: planned("nvidia-nvjitlink", "13.2.51")}}
	after := c.Apply(facts.Environment{Builds: []facts.Build{before}}, facts.Environment{Builds: []facts.Build{without}})
	want := before
	want.Open = map[string]string{"nvidia-nvjitlink": "13.2.51"}
	if diff := cmp.Diff([]facts.Build{want}, after.Builds, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	c.Plan.Installs = nil
	gone := c.Apply(facts.Environment{Builds: []facts.Build{before}}, facts.Environment{Builds: []facts.Build{without}})
	if diff := cmp.Diff([]facts.Build{without}, gone.Builds, cmpopts.EquateEmpty()); diff != "" {
		t.Error("it goes for good: " + diff)
	}
}

func TestExtensionOfReplacedFrameworkIsOpen(t *testing.T) {
	extension := facts.Build{Name: "xformers", Version: "0.0.29", Extension: true, Framework: "torch",
		Path: site + "xformers-0.0.29.dist-info"}
	for coming, open := range map[string]map[string]string{"2.7.0": {"torch": "2.7.0"}, "2.6.1": nil} {
		next := facts.Build{Name: "torch", Version: coming}
		after := apply(facts.Plan{Removes: planned("torch", "2.6.0"), Installs: planned("torch", coming)},
			facts.Environment{Builds: []facts.Build{next}}, torch(), extension)
		if len(after.Builds) != 2 || after.Builds[1].Version != coming {
			t.Fatalf("%+v", after.Builds)
		}
		if diff := cmp.Diff(open, after.Builds[0].Open); diff != "" {
			t.Errorf("torch %s: %s", coming, diff)
		}
	}
}

func TestWheelThatWritesOverAnother(t *testing.T) {
	after := apply(facts.Plan{Installs: planned("nvidia-cudnn-cu13", "9.20.0.48")}, facts.Environment{}, torch())
	if b := after.Builds[0]; b.Open["nvidia-cudnn-cu13"] != "9.20.0.48" || len(b.Taken) != 0 {
		t.Errorf("%+v", b)
	}
}

// TestMissingLibraryComes checks that of two missing libraries the one whose wheel comes is no longer missing.
func TestMissingLibraryComes(t *testing.T) {
	lost := torch()
	lost.Taken, lost.Missing = nil, []string{"libcudnn.so.9", "libnccl.so.2", "libcusparseLt.so.0"}
	lost.Requires["nvidia-nccl-cu12"] = "2.27.5"
	lost.Requires["nvidia-cusparse-cu12"] = "12.5"
	lost.Requires["nvidia-cusparselt-cu12"] = "0.7.1"
	lost.Hindrances = []facts.Hindrance{{Kind: facts.HindranceLibrary, Of: "torch 2.6.0", By: "libnccl.so.2"}}
	b := apply(facts.Plan{Installs: planned("nvidia-nccl-cu12", "2.27.5", "nvidia-cusparse-cu12", "12.5")}, facts.Environment{}, lost).Builds[0]
	if diff := cmp.Diff([]string{"libcudnn.so.9", "libcusparseLt.so.0"}, b.Missing); diff != "" || len(b.Hindrances) > 0 || b.Open != nil {
		t.Errorf("%+v\n%s", b, diff)
	}
	other := apply(facts.Plan{Installs: planned("nvidia-nccl-cu12", "2.20.1")}, facts.Environment{}, lost).Builds[0]
	if diff := cmp.Diff(map[string]string{"nvidia-nccl-cu12": "2.20.1"}, other.Open); diff != "" {
		t.Error(diff)
	}
}

// TestMissingLibraryOfAnotherCUDA checks that a wheel for another CUDA, whose library has another soname, does not
// help. A soname that counts no releases fits any.
func TestMissingLibraryOfAnotherCUDA(t *testing.T) {
	lost := facts.Build{Name: "ctranslate2", Missing: []string{"libcublas.so.12", "libcudnn.so.9", "libcufile.so.0"}}
	for wheel, want := range map[[2]string][]string{
		{"nvidia-cublas", "13.4.1.3"}:      {"libcublas.so.12", "libcudnn.so.9", "libcufile.so.0"},
		{"nvidia-cublas-cu12", "12.8.4.1"}: {"libcudnn.so.9", "libcufile.so.0"},
		{"nvidia-cudnn-cu13", "9.13.0.50"}: {"libcublas.so.12", "libcufile.so.0"},
		{"nvidia-cufile-cu12", "1.13.1.3"}: {"libcublas.so.12", "libcudnn.so.9"},
		{"nvidia-cudnn-cu12", "8.9.7.29"}:  {"libcublas.so.12", "libcudnn.so.9", "libcufile.so.0"},
	} {
		b := apply(facts.Plan{Installs: planned(wheel[0], wheel[1])}, facts.Environment{}, lost).Builds[0]
		_, open := b.Open[wheel[0]]
		if diff := cmp.Diff(want, b.Missing); diff != "" || open != (len(want) < 3) {
			t.Errorf("%v: open %t\n%s", wheel, open, diff)
		}
	}
}

// TestLibraryBeside checks libraries that a program must load first because the loader does not find them. Another
// release of one leaves the result open; a removed one is missing.
func TestLibraryBeside(t *testing.T) {
	onnx := facts.Build{Name: "onnxruntime-gpu", Extension: true, Beside: []string{site + "nvidia/cudnn/lib/libcudnn.so.9",
		site + "nvidia/cublas/lib/libcublas.so.12"}}
	c := Change{Plan: facts.Plan{Removes: planned("nvidia-cudnn-cu12", "9.1", "nvidia-cublas-cu12", "12.9"),
		Installs: planned("nvidia-cublas-cu12", "12.1")}, Files: map[string]string{
		site + "nvidia/cudnn/lib/libcudnn.so.9":    "nvidia-cudnn-cu12",
		site + "nvidia/cublas/lib/libcublas.so.12": "nvidia-cublas-cu12"}}
	without := onnx
	without.Beside, without.Missing = nil, []string{"libcublas.so.12", "libcudnn.so.9"}
	b := c.Apply(facts.Environment{Builds: []facts.Build{onnx}}, facts.Environment{Builds: []facts.Build{without}}).Builds[0]
	want := onnx
	want.Open = map[string]string{"nvidia-cublas-cu12": "12.1"}
	want.Missing, want.Beside = []string{"libcudnn.so.9"}, onnx.Beside[1:]
	if diff := cmp.Diff(want, b, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestPluginWithoutItsJAX checks that a plugin that reads as one without a jax, while its jax is replaced, has the jax
// to come.
func TestPluginWithoutItsJAX(t *testing.T) {
	c := Change{Plan: facts.Plan{Removes: planned("jax", "0.6.2", "jaxlib", "0.6.2"), Installs: planned("jax", "0.7.2", "jaxlib", "0.7.2")},
		Coming: facts.Environment{Builds: []facts.Build{{Name: "jax", Version: "0.7.2"}}}}
	before := facts.Environment{Builds: []facts.Build{{Name: "jax", Version: "0.6.2"}}}
	left := facts.Environment{Builds: []facts.Build{{Name: "jax-cuda12-plugin", Extension: true,
		Hindrances: []facts.Hindrance{{Kind: facts.HindranceWithout, By: "jax"}}}}}
	if b := c.Apply(before, left).Builds; len(b) != 1 || b[0].Name != "jax" || b[0].Version != "0.7.2" {
		t.Errorf("%+v", b)
	}
}

// TestExtensionReadBesideWhatGoes checks that an extension, which does not read as a build without its torch, is one
// again beside the torch to come.
func TestExtensionReadBesideWhatGoes(t *testing.T) {
	extension := facts.Build{Name: "fused-dense", Version: "0.1", Extension: true, Framework: "torch", Path: site + "fused_dense"}
	c := Change{Plan: facts.Plan{Removes: planned("torch", "2.6.0"), Installs: planned("torch", "2.7.0")},
		Coming: facts.Environment{Builds: []facts.Build{{Name: "torch", Version: "2.7.0"}}}}
	after := c.Apply(facts.Environment{Builds: []facts.Build{torch(), extension}}, facts.Environment{})
	want := extension
	want.Open = map[string]string{"torch": "2.7.0"}
	if diff := cmp.Diff([]facts.Build{want, {Name: "torch", Version: "2.7.0"}}, after.Builds, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedLibraryComesAgain checks that a damaged library is whole after its wheel is installed again, whatever the
// wheel's name.
func TestDamagedLibraryComesAgain(t *testing.T) {
	build := torch()
	build.Requires["mkl"] = "2024.2"
	build.Unloadable = []facts.Unloadable{{Name: "libiomp5.so"}, {Name: "libgomp.so.1"}}
	c := Change{Plan: facts.Plan{Removes: planned("mkl", "2024.2"), Installs: planned("mkl", "2024.2")},
		Files: map[string]string{"/opt/venv/lib/libiomp5.so": "mkl"}}
	without := build
	b := c.Apply(facts.Environment{Builds: []facts.Build{build}}, facts.Environment{Builds: []facts.Build{without}}).Builds[0]
	if diff := cmp.Diff([]facts.Unloadable{{Name: "libgomp.so.1"}}, b.Unloadable); diff != "" {
		t.Error(diff)
	}
}

// TestStandsIn checks that the present modules represent those of another release to come. A build, a CUDA library and
// a removed distribution are not represented.
func TestStandsIn(t *testing.T) {
	envs := []facts.Environment{{Builds: []facts.Build{torch(), {Name: "torchao"}}}}
	names := []string{"pillow", "numpy", "torch", "torchao", "triton", "nvidia-cudnn-cu12", "cuda-bindings"}
	c := Change{Plan: facts.Plan{Removes: planned("sympy", "1.0")}}
	for _, name := range names {
		c.Plan.Removes = append(c.Plan.Removes, facts.Planned{Name: name, Version: "1.0"})
		c.Plan.Installs = append(c.Plan.Installs, facts.Planned{Name: name, Version: "2.0"})
	}
	var stands []string
	for _, name := range append(names, "sympy") {
		if c.StandsIn(name, envs) {
			stands = append(stands, name)
		}
	}
	if diff := cmp.Diff([]string{"pillow", "numpy"}, stands); diff != "" {
		t.Error(diff)
	}
}

// TestNewRelease checks that of two NumPy releases only the coming one remains, without the hindrances of the old one.
func TestNewRelease(t *testing.T) {
	jax := facts.Build{Name: "jax", Version: "0.6.2", Hindrances: []facts.Hindrance{{Kind: facts.HindranceOtherPython, Of: "numpy 1.26.4"}}}
	before := facts.Environment{Builds: []facts.Build{jax}, Packages: []facts.Package{{Name: "numpy", Version: "1.26.4"}}}
	c := Change{Plan: facts.Plan{Removes: planned("numpy", "1.26.4"), Installs: planned("numpy", "2.2.6")},
		Coming: facts.Environment{Packages: []facts.Package{{Name: "numpy", Version: "2.2.6"}}}}
	after := c.Apply(before, before)
	if len(after.Packages) != 1 || after.Packages[0].Version != "2.2.6" || len(after.Builds[0].Hindrances) > 0 {
		t.Errorf("%+v", after)
	}
}

// TestRefusedRelease checks that a build's METADATA is read as PEP 440 reads it. The semver range of the driver tables
// took "~=3.5.0" for a range that has every version.
func TestRefusedRelease(t *testing.T) {
	for _, c := range []struct {
		accepted, coming string
		open             bool
	}{
		{"~=3.5.0", "3.4.0", true},
		{"~=3.5.0", "3.6.0", true},
		{"~=3.5.0", "3.5.1", false},
		{"==3.5.*", "3.4.0", true},
		{"==3.5.*", "3.5.2", false},
		{"===3.5.0", "3.5.1", true},
		{">=3.5.0.post1", "3.5.0", true},
		{"!=3.5.1", "3.5.1", true},
		{"==3.5.0", "3.5.0+gitabc", false},
		{"~=3.5.0,<nonsense", "3.4.0", false}, // cannot be told
	} {
		torch := facts.Build{Name: "torch", Version: "2.9.0+cu130", Requires: map[string]string{}}
		env := facts.Environment{Builds: []facts.Build{torch}}
		change := Change{Plan: facts.Plan{Installs: planned("triton", c.coming)},
			Ranges: func(string) map[string]string { return map[string]string{"triton": c.accepted} }}
		b := change.Apply(env, env).Builds[0]
		if _, open := b.Open["triton"]; open != c.open {
			t.Errorf("triton (%s), %s comes: open is %v", c.accepted, c.coming, b.Open)
		}
	}
}
