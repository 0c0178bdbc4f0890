//go:build !js

// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "cudacompat/internal/limit" // checks the address space before Go's runtime starts
	"cudacompat/probe"
)

func main() {
	limitProcessors()
	probe.ServeNVML()
	serveChild(runInMemory)
	code, done := runInChild(os.Args[1:])
	if !done {
		code = runInMemory(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	}
	os.Exit(code)
}

// runInMemory runs a command within its memory limit.
func runInMemory(args []string, s streams) int {
	most := int64(inUse)
	if len(args) > 0 && args[0] == "fleet" {
		most = inUseFleet
	}
	collectLate(most)
	return runWithin(withinMemory(context.Background(), uint64(most)), args, s)
}

// ignoreBrokenPipe keeps a health check alive whose standard output is gone.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }
