// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"cudacompat/probe"
)

func main() {
	probe.ServeNVML()
	collectLate()
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// collectLate leaves garbage where it is until there are 24 MB: a run allocates a few megabytes and ends, and
// collecting them costs more than they do. From the first collection on it is done as the heap grows, by a quarter: a
// fixed limit below what is in use would collect without end, and by half 100,000 distributions take more than 64 MB.
func collectLate() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)
	sentinel := new([64]byte)
	runtime.AddCleanup(sentinel, func(growth int) {
		debug.SetGCPercent(growth)
		debug.SetMemoryLimit(math.MaxInt64)
	}, 25)
}
