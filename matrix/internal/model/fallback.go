package model

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// gpuName matches the names of distributions that ask for the GPU: onnxruntime-gpu, cudf-cu12, cupy-cuda12x,
// nvidia-dali-cuda120, numba-cuda.
var gpuName = lazyregexp.New(`-gpu(-|$)|-cu\d+(-|$)|cuda`)

// asks reports whether a build is there for the GPU. That one goes on with the CPU has to be known: of XGBoost's and
// CTranslate2's wheels the table of packages says so, and the programs outside Python that are looked for do. Whatever
// else carries CUDA code is broken where that cannot run.
func asks(t *tables.Tables, b *facts.Build) bool {
	if b.Origin == "program" {
		return false
	}
	rows := tables.RowsOf[tables.Package](t, b.Name)
	return !b.Extension || gpuName.MatchString(b.Name) || len(rows) == 0 || rows[0].Uses != "either"
}

// keptToCPU returns the variable by which the user of a program here, or an image, keeps a framework to the CPU; empty
// where none does. JAX starts the platforms of JAX_PLATFORMS alone; of the older JAX_PLATFORM_NAME it takes its default
// (jax 0.10.2, backends and _get_backend_uncached of jax/_src/xla_bridge.py).
func (m *Machine) keptToCPU(name string) string {
	if name != "jax" || !m.Starts() {
		return ""
	}
	forGPU := func(platform string) bool {
		return slices.Contains([]string{"cuda", "gpu"}, strings.TrimSpace(platform))
	}
	platforms, preferred := m.Facts.Variables["JAX_PLATFORMS"], m.Facts.Variables["JAX_PLATFORM_NAME"]
	switch {
	case platforms != "" && !slices.ContainsFunc(strings.Split(platforms, ","), forGPU):
		return "JAX_PLATFORMS=" + platforms
	case preferred != "" && !forGPU(strings.ToLower(preferred)):
		return "JAX_PLATFORM_NAME=" + preferred
	}
	return ""
}

// GoesOn reports whether a build carries CUDA code that it can do without. Who takes a package from an index of a CUDA
// asks for the GPU.
func (b *Build) GoesOn() bool {
	return b.Kept != "" || (b.Either() || !asks(b.Env.t, b.Build)) && (b.Named == nil || b.Named.IndexCUDA == "")
}

// FailsWithout reports whether a build that goes on with the CPU fails all the same where libraries are missing: what
// installed CTranslate2 uses nothing of it but Whisper's models, which end the program on a GPU without them.
func (b *Build) FailsWithout() bool {
	return b.Name == "ctranslate2" && b.PartOf == "faster-whisper" && len(b.Missing) > 0
}

// WantsCUDA reports whether a build is made for CUDA and there for the GPU.
func (b *Build) WantsCUDA() bool { return b.Device == "cuda" && !b.GoesOn() }

// AnyWants reports whether a build that satisfies the condition is there for the GPU.
func (m *Machine) AnyWants(condition func(*Build) bool) bool {
	return slices.ContainsFunc(m.Builds, func(b *Build) bool { return b.WantsCUDA() && condition(b) })
}
