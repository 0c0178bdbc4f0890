// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"os"

	"cudacompat/probe"
)

func main() {
	probe.ServeNVML() // first: in the child that asks NVML it does not return
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
