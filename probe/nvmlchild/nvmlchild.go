// Package nvmlchild makes the child process that asks NVML answer before the rest of a program is initialised, a third
// of a start sooner than [cudacompat/probe.ServeNVML] does in main. Import it in place of that call:
//
//	import _ "cudacompat/probe/nvmlchild"
//
// Packages are initialised by their paths as soon as what they import is (the Go specification, "Program
// initialization"), so what NVML needs comes before most other modules.
package nvmlchild

import "cudacompat/probe/internal/nvml"

var _ = served()

func served() struct{} {
	nvml.Serve()
	return struct{}{}
}
