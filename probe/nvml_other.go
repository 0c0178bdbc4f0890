//go:build !linux || !cgo

package probe

const (
	builtIn = false
	noNVML  = "this build has no NVML (built without cgo); driver and GPUs come from /proc, /sys and files alone"
)

func askNVML() answer { return answer{NVML: NVML{Status: "not built in", Message: noNVML}} }
