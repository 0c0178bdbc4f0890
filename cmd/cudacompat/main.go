// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"os"
	"runtime/debug"

	"cudacompat/probe"
)

func main() {
	// A run allocates a few megabytes and ends: collecting them costs more than they do. The limit holds where a run
	// is larger than that.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)
	probe.ServeNVML() // first of all work: in the child that asks NVML it does not return
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
