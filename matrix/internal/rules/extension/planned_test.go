package extension

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
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
		m := model.NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
		if got := comingTwin(m, &model.Build{Build: &facts.Build{Name: c.stays}}); got != c.want {
			t.Errorf("%s over %s: %q, want %q", c.comes, c.stays, got, c.want)
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
		m := model.NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
		if got := reportUnknownPairing(m, m.Builds[1]); len(got) != want {
			t.Errorf("%s: %d results, want %d", wheel, len(got), want)
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
		m := model.NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
		h := refusedJaxlib(m, m.Builds[0])
		if h == nil && c.want != "" || h != nil && h.By != c.want {
			t.Errorf("jax %s with jaxlib %s: %+v, want %q", c.jax, c.jaxlib, h, c.want)
		}
	}
}
