package library

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

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
		m := model.NewMachine(tables.Embedded(), &f, hardware.Target{}, verdict.Policy{})
		b := &model.Build{Build: &facts.Build{Name: "onnxruntime-gpu", Open: map[string]string{c.name: c.comes}}}
		if got := PlanReplacesByNewer(m, b, c.name); got != c.want {
			t.Errorf("%s %s by %s: %t, want %t", c.name, c.had, c.comes, got, c.want)
		}
	}
}
