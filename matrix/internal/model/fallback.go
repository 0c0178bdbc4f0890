package model

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// gpuName matches distributions whose names ask for the GPU: onnxruntime-gpu, cudf-cu12, cupy-cuda12x,
// nvidia-dali-cuda120, numba-cuda.
var gpuName = lazyregexp.New(`-gpu(-|$)|-cu\d+(-|$)|cuda`)

// asks reports whether a build is installed for the GPU. A build counts as able to continue on the CPU only if the
// table of packages says so (XGBoost's and CTranslate2's wheels) or it is one of the known programs outside Python.
// Every other build with CUDA code is broken if that code cannot run.
func asks(t *tables.Tables, b *facts.Build) bool {
	if b.Origin == "program" {
		return false
	}
	rows := tables.RowsOf[tables.Package](t, b.Name)
	return !b.Extension || gpuName.MatchString(b.Name) || len(rows) == 0 || rows[0].Uses != "either"
}

// keptToCPU returns the variable with which the user, or an image, keeps a framework on the CPU, or "". JAX starts only
// the platforms in JAX_PLATFORMS, and takes its default from the older JAX_PLATFORM_NAME (jax 0.10.2, backends and
// _get_backend_uncached of jax/_src/xla_bridge.py).
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

// GoesOn reports whether a build has CUDA code but works without it. A package from an index that names a CUDA was
// chosen for the GPU, so it does not.
func (b *Build) GoesOn() bool {
	return b.Kept != "" || (b.Either() || !asks(b.Env.t, b.Build)) && (b.Named == nil || b.Named.IndexCUDA == "")
}

// FailsWithout reports whether a build that continues on the CPU still fails if libraries are missing. The package that
// installed CTranslate2 uses it only for Whisper's models, which end the program on a GPU without them.
func (b *Build) FailsWithout() bool {
	return b.Name == "ctranslate2" && b.PartOf == "faster-whisper" && len(b.Missing) > 0
}

// WantsCUDA reports whether a build is made for CUDA and installed for the GPU.
func (b *Build) WantsCUDA() bool { return b.Device == "cuda" && !b.GoesOn() }

// AnyWants reports whether a build that is installed for the GPU satisfies condition.
func (m *Machine) AnyWants(condition func(*Build) bool) bool {
	return slices.ContainsFunc(m.Builds, func(b *Build) bool { return b.WantsCUDA() && condition(b) })
}

// WantsGPU reports whether something here needs CUDA: an EC2 GPU instance, CUDA software, or the caller.
func (m *Machine) WantsGPU() bool {
	return m.Instance != nil || len(m.Facts.Toolkits)+len(m.Facts.Driver.Libraries)+len(m.Facts.Driver.Modules) > 0 ||
		len(m.Policy.Require) > 0 || m.AnyWants(func(*Build) bool { return true })
}

// JudgesCUDA reports whether a CUDA build matters here, or the caller requires something that needs CUDA.
func (m *Machine) JudgesCUDA() bool {
	return len(m.Policy.Require) > 0 || m.AnyWants(func(b *Build) bool { return b.Counts })
}
