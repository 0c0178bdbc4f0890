package matrix

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe"
)

// gpuName matches the names of distributions that ask for the GPU: onnxruntime-gpu, cudf-cu12, cupy-cuda12x,
// nvidia-dali-cuda120, numba-cuda.
var gpuName = lazyregexp.New(`-gpu(-|$)|-cu\d+(-|$)|cuda`)

// asks reports whether a build is there for the GPU: a framework, what is made for one, or what says so by its name.
// What stands by itself merely carries CUDA code and goes on with the CPU, such as XGBoost's and CTranslate2's wheels.
func asks(b *probe.Build) bool {
	return !b.Extension || gpuName.MatchString(b.Name) || !b.Standalone && b.Name != "ctranslate2"
}

// goesOn reports whether a build carries CUDA code that it can do without.
func (b *build) goesOn() bool { return !asks(b.Build) }

// wantsCUDA reports whether a build is made for CUDA and there for the GPU.
func (b *build) wantsCUDA() bool { return b.accelerator == "cuda" && !b.goesOn() }

// withoutGPU makes warnings of the errors that a build goes on after without the GPU; it marks them, for they silence
// their consequences as errors do.
func (b *build) withoutGPU(results []*result) []*result {
	for _, r := range results {
		if r.finding != nil && r.finding.Severity == Error && b.goesOn() {
			f := *r.finding
			f.Message += "; " + b.Name + " goes on with the CPU"
			r.finding, r.cpuOnly = &f, true
		}
	}
	return results
}

// anyWants reports whether a build that satisfies the condition is there for the GPU.
func (m *machine) anyWants(condition func(*build) bool) bool {
	return slices.ContainsFunc(m.builds, func(b *build) bool { return b.wantsCUDA() && condition(b) })
}
