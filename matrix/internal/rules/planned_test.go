package rules

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/verdict"
	"cudacompat/matrix/internal/world"
	"cudacompat/probe/facts"
)

// TestComingTwin: what a plan brings is written over what has the same modules: onnxruntime over onnxruntime-gpu, one
// CuPy over that of another CUDA. A newer release of the same package is none.
func TestComingTwin(t *testing.T) {
	for _, c := range []struct{ stays, comes, want string }{
		{"cupy-cuda12x", "cupy-cuda13x", "cupy-cuda13x 1.0"},
		{"cupy-cuda12x", "cupy-cuda12x", ""},
		{"onnxruntime-gpu", "onnxruntime", "onnxruntime 1.0"},
		{"onnxruntime-gpu", "onnx", ""},
		{"xgboost", "lightgbm", ""},
	} {
		f := facts.Facts{Plan: &facts.Plan{Installs: []facts.Planned{{Name: c.comes, Version: "1.0"}}}}
		f.Complete()
		m := world.NewMachine(tables.Embedded(), &f, world.Target{}, verdict.Policy{})
		if got := comingTwin(m, &world.Build{Build: &facts.Build{Name: c.stays}}); got != c.want {
			t.Errorf("%s over %s: %q, want %q", c.comes, c.stays, got, c.want)
		}
	}
}
