// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"context"
	"os"

	_ "cudacompat/internal/limit" // checks the address space before Go's runtime starts
	"cudacompat/probe"
)

func main() {
	probe.ServeNVML()
	most := int64(inUse)
	if len(os.Args) > 1 && os.Args[1] == "fleet" {
		most = inUseFleet
	}
	collectLate(most)
	os.Exit(runWithin(withinMemory(context.Background(), uint64(most)), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
