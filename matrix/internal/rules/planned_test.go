package rules

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestComingTwin checks that a plan's package overwrites one with the same modules: onnxruntime over onnxruntime-gpu,
// one CuPy over that for another CUDA. A newer release of the same package is no twin.
func TestComingTwin(t *testing.T) {
	for _, c := range []struct{ stays, comes, want string }{
		{"cupy-cuda12x", "cupy-cuda13x", "cupy-cuda13x 1.0"},
		{"cupy-cuda12x", "cupy-cuda12x", ""},
		{"onnxruntime-gpu", "onnxruntime", "onnxruntime 1.0"},
		{"onnxruntime-gpu", "onnx", ""},
		{"tensorflow", "tensorflow-cpu", "tensorflow-cpu 1.0"},
		{"tensorflow", "tensorflow-metadata", ""},
		{"xgboost", "lightgbm", ""},
	} {
		f := facts.Facts{Plan: &facts.Plan{Installs: []facts.Planned{{Name: c.comes, Version: "1.0"}}}}
		f.Complete()
		m := model.NewMachine(tables.Embedded(), &f, model.Target{}, verdict.Policy{})
		if got := comingTwin(m, &model.Build{Build: &facts.Build{Name: c.stays}}); got != c.want {
			t.Errorf("%s over %s: %q, want %q", c.comes, c.stays, got, c.want)
		}
	}
}

// TestBareBeside checks that wheels of an older release do not prove that ONNX Runtime finds its libraries: it opens
// NVRTC only from 1.21 on.
func TestBareBeside(t *testing.T) {
	wheels := []string{"nvidia-cublas-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cudnn-cu12", "nvidia-cufft-cu12", "nvidia-curand-cu12"}
	for _, c := range []struct {
		wheels  []string
		unknown bool
	}{{wheels, true}, {append(wheels, "nvidia-cuda-nvrtc-cu12"), false}} {
		env := facts.Environment{Path: "/opt/venv"}
		for _, name := range c.wheels {
			env.Packages = append(env.Packages, facts.Package{Name: name, Version: "12.6.77"})
		}
		b := &model.Build{Build: &facts.Build{Name: "onnxruntime-gpu", Version: "1.21.1"},
			Answer: cudaof.Exactly(version.Of("12"), cudaof.Name),
			Env:    model.NewEnvironment(tables.Embedded(), &env)}
		if got := librariesNotInEnvironment(b); len(got) > 0 != c.unknown {
			t.Errorf("%v: %v, unknown is %t", c.wheels, got, c.unknown)
		}
	}
}

// TestOutgrown checks which replaced library still works for a build that stays and pins nothing: a newer one of the
// same major version, if it depends on no other library. If there was none, the release of the last CUDA of the major
// version works.
func TestOutgrown(t *testing.T) {
	for _, c := range []struct {
		name, had, comes string
		want             bool
	}{
		{"nvidia-cublas-cu12", "12.6.4.1", "12.9.3.13", true},
		{"nvidia-cublas-cu12", "12.6.4.1", "12.4.5.8", false},
		{"nvidia-cublas", "12.9.1", "13.1.0.3", false},
		{"nvidia-cusparse-cu12", "12.3.1.170", "12.5.4.2", false},
		{"nvidia-cudnn-cu12", "", "9.5.1.17", false},
		{"nvidia-cuda-nvrtc-cu12", "", "12.9.86", true},
		{"nvidia-cuda-nvrtc-cu12", "", "12.8.93", false},
		{"nvidia-cuda-nvrtc", "", "99.9.1", false},
		{"nvidia-cufft-cu12", "", "12.9.1", false},
	} {
		f := facts.Facts{Plan: &facts.Plan{Removes: []facts.Planned{{Name: c.name, Version: c.had}}}}
		m := model.NewMachine(tables.Embedded(), &f, model.Target{}, verdict.Policy{})
		b := &model.Build{Build: &facts.Build{Name: "onnxruntime-gpu", Open: map[string]string{c.name: c.comes}}}
		if got := planReplacesByNewer(m, b, c.name); got != c.want {
			t.Errorf("%s %s by %s: %t, want %t", c.name, c.had, c.comes, got, c.want)
		}
	}
}

// TestUntoldOfItsFramework checks that torchvision, which imports torch, is not asked about libraries that torch may
// not run with. A newer NCCL or cuBLAS has everything of an older one and leaves no question.
func TestUntoldOfItsFramework(t *testing.T) {
	for wheel, want := range map[string]int{"nvidia-cusparse-cu12": 1, "nvidia-nccl-cu12": 0, "nvidia-cublas-cu12": 0} {
		f := facts.Facts{Plan: &facts.Plan{Installs: []facts.Planned{{Name: wheel, Version: "12.5.4.2"}}},
			Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Named: true, Builds: []facts.Build{
				{Name: "torch", Version: "2.6.0+cu124", CUDA: "12.4", Accelerator: "cuda", Requires: map[string]string{wheel: "12.3.1.170"},
					Open: map[string]string{wheel: "12.5.4.2"}},
				{Name: "torchvision", Version: "0.21.0", CUDA: "12.4", Accelerator: "cuda", Extension: true, Framework: "torch"}}}}}
		f.Complete()
		m := model.NewMachine(tables.Embedded(), &f, model.Target{}, verdict.Policy{})
		if got := pairingUnknown(m, m.Builds[1]); len(got) != want {
			t.Errorf("%s: %d results, want %d", wheel, len(got), want)
		}
	}
}

// TestPatched checks that a package built for torch 2.7.0 loads beside 2.7.1. Beside another minor release, or one for
// another CUDA, the answer is unknown.
func TestPatched(t *testing.T) {
	for _, c := range []struct {
		requires, have string
		want           bool
	}{
		{"torch 2.7.0", "2.7.1", true},
		{"torch==2.7.0", "2.7.1", true},
		{"triton 3.7.0", "3.7.1", true},
		{"torch 2.7.0", "2.8.0", false},
		{"torch 2.7.0", "2.7.1+cu118", false},
		{"torch>=2.7.2,<2.8", "2.7.1", false},
		{"torch 2.7.0", "", false},
		{"numpy 2.3.1", "2.3.2", false},
		{"", "", false},
	} {
		if got := differsInPatch(facts.Lack{Of: "torchaudio", Requires: c.requires, Have: c.have}); got != c.want {
			t.Errorf("%s, there is %s: %t, want %t", c.requires, c.have, got, c.want)
		}
	}
}

// TestRefusedJaxlib checks that jax's row says which jaxlib it accepts. For a jax without a row the answer is unknown.
func TestRefusedJaxlib(t *testing.T) {
	for _, c := range []struct{ jax, jaxlib, want string }{
		{"0.7.2", "0.6.2", "jaxlib>=0.7.2,<=0.7.2"},
		{"0.6.2", "0.7.2", "jaxlib>=0.6.2,<=0.6.2"},
		{"0.8.3", "0.8.2", ""},
		{"9.9.9", "0.6.2", ""},
	} {
		f := facts.Facts{Plan: &facts.Plan{Installs: []facts.Planned{{Name: "jax", Version: c.jax}}},
			Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Named: true,
				Packages: []facts.Package{{Name: "jax", Version: c.jax}, {Name: "jaxlib", Version: c.jaxlib}},
				Builds:   []facts.Build{{Name: "jax", Version: c.jaxlib, CUDA: "12", Accelerator: "cuda"}}}}}
		f.System.Arch = "x86_64"
		f.Complete()
		m := model.NewMachine(tables.Embedded(), &f, model.Target{}, verdict.Policy{})
		h := refusedJaxlib(m, m.Builds[0])
		if h == nil && c.want != "" || h != nil && h.By != c.want {
			t.Errorf("jax %s with jaxlib %s: %+v, want %q", c.jax, c.jaxlib, h, c.want)
		}
	}
}
