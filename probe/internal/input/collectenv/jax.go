package collectenv

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// What jax.print_environment_info prints. It does not name the plugin that brings CUDA, only the devices:
//
//	jax:    0.6.2
//	jaxlib: 0.6.2
//	numpy:  2.3.1
//	python: 3.12.3 (main, Jun 18 2025, 17:59:45) [GCC 13.3.0]
//	device info: NVIDIA H100 80GB HBM3-8, 8 local devices
//	jax.devices (8 total, 8 local): [CudaDevice(id=0) CudaDevice(id=1) ...]
var (
	jaxField = lazyregexp.New(`^[\s>]*(jax|jaxlib|numpy|python|device info|jax\.devices \(\d+ total, \d+ local\)):\s+(\S.*?)\s*$`)
	jaxKind  = lazyregexp.New(`^(\S.*)-(\d+), \d+ local devices$`)
	jaxCUDA  = lazyregexp.New(`(?i)\b(?:Cuda|StreamExecutorGpu)Device\(|\bgpu\(id`)
	jaxCPU   = lazyregexp.New(`(?i)\b(?:Cpu|TFRT_CPU_)`)
)

// jaxTells returns the loose fact that a line of JAX's report tells: its release, or that of jaxlib.
func jaxTells(line string) string {
	m := jaxField.FindStringSubmatch(line)
	if m == nil || !strings.HasPrefix(m[1], "jax") || !document.LeadVersion.MatchString(m[2]) || strings.Contains(m[2], " ") {
		return ""
	}
	return m[1]
}

// readJAX reads a line of JAX's report. The other lines count only below those of jax and jaxlib.
func (r *reportReader) readJAX(line string) bool {
	m := jaxField.FindStringSubmatch(line)
	if m == nil || jaxTells(line) == "" && !r.seen["jaxlib"] {
		return false
	}
	r.seen[m[1]], r.block = true, true
	switch {
	case m[1] == "jax":
		r.jax = m[2]
		r.Observed.Imported = true
	case m[1] == "python":
		r.python = document.LeadVersion.FindString(m[2])
	case m[1] == "numpy":
		r.packages = append(r.packages, facts.Package{Name: "numpy", Version: m[2], Path: From})
	case m[1] == "device info":
		r.jaxDevices(m[2])
	case jaxCUDA.MatchString(m[2]):
		r.available("True")
	case jaxCPU.MatchString(m[2]):
		r.available("False")
	}
	return true
}

// jaxDevices takes "NVIDIA H100 80GB HBM3-8, 8 local devices", or "cpu-1, 1 local devices".
func (r *reportReader) jaxDevices(value string) {
	m := jaxKind.FindStringSubmatch(value)
	switch {
	case m == nil:
	case m[1] == "cpu":
		r.available("False")
	case nvidiaName.MatchString(m[1]):
		r.available("True")
		if !HasGPUNamed(r.GPUs, m[1]) {
			r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{From}})
		}
	}
}

// jaxBuild returns the JAX of the report. Only one that has GPUs shows that it was installed for CUDA.
func (r *reportReader) jaxBuild() []facts.Build {
	if r.jax == "" || !r.seen["jaxlib"] {
		return nil
	}
	b := facts.Build{Name: "jax", Version: r.jax, From: From}
	if r.Observed.CUDAAvailable != nil && *r.Observed.CUDAAvailable {
		b.Accelerator = "cuda"
	}
	return []facts.Build{b}
}
