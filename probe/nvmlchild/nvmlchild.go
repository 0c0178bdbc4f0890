// Package nvmlchild makes the child process that asks NVML answer before the rest of a program is initialised. Import it
// for that effect in a program that calls [cudacompat/probe.ServeNVML], which does the same a third of a start later:
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
