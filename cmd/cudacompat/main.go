//go:build !js

// Command cudacompat tells whether the CUDA stack of a machine, a container or a machine image will work, and if not,
// what to install instead. It only reads.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"cudacompat/internal/budget"
	"cudacompat/internal/fuse"
	_ "cudacompat/internal/limit" // checks the address space before Go's runtime starts
	"cudacompat/probe"
)

func main() {
	limitProcessors()
	probe.ServeNVML()
	fuse.ServeChild(runInMemory)
	code, done, err := fuse.RunInChild(os.Args[1:])
	switch {
	case !done:
		code = runInMemory(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	case err != nil:
		code = reportError(err, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	}
	os.Exit(code)
}

// runInMemory runs a command within its memory limit.
func runInMemory(args []string, in io.Reader, out, errs io.Writer) int {
	most := int64(budget.RunMemory)
	if len(args) > 0 && args[0] == "fleet" {
		most = budget.FleetMemory
	}
	budget.CollectLate(most)
	return runWithin(budget.LimitMemory(context.Background(), uint64(most)), args, streams{in, out, errs})
}

// ignoreBrokenPipe keeps a health check alive whose standard output is gone.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// limitProcessors lowers GOMAXPROCS to the number of processors. The binary with C lowers it before Go's runtime starts.
func limitProcessors() {
	if all := runtime.NumCPU(); runtime.GOMAXPROCS(0) > all {
		runtime.GOMAXPROCS(all)
	}
}
