//go:build !linux || !cgo

package nvml

import "cudacompat/probe/facts"

const (
	builtIn = false
	noNVML  = "this build has no NVML (built without cgo); driver and GPUs come from /proc, /sys and files alone"
)

func askNVML() Answer { return Answer{NVML: facts.NVML{Status: "not built in", Message: noNVML}} }
