package library

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/model"
	"cudacompat/probe/facts"
)

// TestServedBy checks that a torch in the same file provides the libraries of a wheel if both have one CUDA major
// version and open one major version of cuDNN. An unknown value counts as equal.
func TestServedBy(t *testing.T) {
	env := &model.Environment{Environment: &facts.Environment{}}
	build := func(name, cuda, cudnn string) *model.Build {
		return &model.Build{Build: &facts.Build{Name: name}, Env: env, Answer: cudaof.Exactly(version.ParseOrZero(cuda), cudaof.Files), CuDNNNumber: version.ParseOrZero(cudnn)}
	}
	torch := build("torch", "12.4", "9.1.0.70")
	for _, c := range []struct {
		cuda, cudnn string
		want        bool
	}{
		{"12.8", "9.10.2", true}, {"12.0", "8.9.7", false}, {"11.8", "9.1.0", false}, {"11.8", "8.9.7", false},
		{"12.8", "", true}, {"", "", true},
	} {
		if got := servedBy(build("onnxruntime-gpu", c.cuda, c.cudnn), torch); got != c.want {
			t.Errorf("CUDA %s, cuDNN %s beside CUDA 12.4, cuDNN 9: %v, want %v", c.cuda, c.cudnn, got, c.want)
		}
	}
	if servedBy(build("onnxruntime-gpu", "12.8", "9.1"), build("tensorflow", "12.5", "9.3")) {
		t.Error("TensorFlow's libraries are not on the path of another package")
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
			Answer: cudaof.Exactly(version.ParseOrZero("12"), cudaof.Name),
			Env:    model.NewEnvironment(tables.Embedded(), &env)}
		if got := judgeEnvironmentLibraries(b); len(got) > 0 != c.unknown {
			t.Errorf("%v: %v, unknown is %t", c.wheels, got, c.unknown)
		}
	}
}
