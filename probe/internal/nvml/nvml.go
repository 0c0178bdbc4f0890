// Package nvml asks the driver's management library about the driver and the GPUs. If the program allows it, it asks in
// a child process, so that a fault in the library ends only the child.
package nvml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// nvmlArg starts this program as the child that asks NVML; how long it may take follows.
const nvmlArg = "__nvml"

// canServe reports whether this program calls Serve, so that starting it again reaches the child's code. A program that
// does not would start itself for ever.
var canServe bool

// Serve must be called first in main by a program that wants NVML to be asked in a child process. In the child it
// answers and does not return. Without it, NVML runs in the program's own process.
func Serve() {
	canServe = true
	if len(os.Args) == 3 && os.Args[1] == nvmlArg {
		serve()
	}
}

// Serves reports whether this program called Serve.
func Serves() bool { return canServe }

// Start asks NVML, and opens the driver's nodes, while the files are read. The returned function waits for the answer.
// The nodes are those of the running root.
func Start(ctx context.Context, h *host.Host, limit time.Duration) func() *Answer {
	if h.Rest {
		return func() *Answer {
			return &Answer{NVML: facts.NVML{Status: "left out", Message: "only files are read (--root, --offline)"}}
		}
	}
	wait := start(ctx, h, limit)
	return func() *Answer {
		a := wait()
		if h.Root != "/" {
			a.Opened = nil
		}
		return a
	}
}

func start(ctx context.Context, h *host.Host, limit time.Duration) func() *Answer {
	if !builtIn {
		return notAsked(facts.NVML{Status: "not built in", Message: noNVML})
	}
	if nowhere(h) {
		return notAsked(notFound)
	}
	if limit == 0 {
		limit = nvmlTimeout(h)
	}
	ask, patience := askHere, limit
	if canServe {
		child := ctx
		ask = func() *Answer { return askChild(child, h.Env, limit) }
		ctx, patience = context.WithoutCancel(ctx), limit+time.Second // a child that is late is ended first
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	done := make(chan *Answer, 1)
	go func() {
		started := time.Now()
		a := ask()
		a.took = time.Since(started)
		done <- a
	}()
	return func() *Answer {
		defer cancel()
		return await(ctx, done, limit)
	}
}

// notAsked returns the answer where NVML cannot be asked.
func notAsked(why facts.NVML) func() *Answer {
	return func() *Answer { return &Answer{NVML: why, Opened: openHere(openNodes)} }
}

// notFound is the answer where there is no NVML to ask: 12 is NVML_ERROR_LIBRARY_NOT_FOUND.
var notFound = facts.NVML{Status: "absent", Code: 12, Message: "libnvidia-ml.so.1 is not on the loader's path"}

// nowhere reports whether the loader would find no NVML: then no child is started only to say so. The child asks the
// loader of this machine, whatever root is read.
func nowhere(h *host.Host) bool {
	if h.Root != "/" {
		return false
	}
	loader, err := h.OwnLoader().Host()
	if err != nil {
		return false
	}
	_, err = loader.Find("libnvidia-ml.so.1", nil)
	return errors.Is(err, ldso.ErrNotFound)
}

// await waits for the answer. An answer that has arrived counts even if the files took longer than NVML's limit.
func await(ctx context.Context, done <-chan *Answer, limit time.Duration) *Answer {
	select {
	case a := <-done:
		return a
	default:
	}
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return late(limit)
	}
}

// askHere asks NVML in this process, for programs that do not call Serve.
func askHere() *Answer {
	var a Answer
	opened := openHere(openNodes)
	askNVML(false, func(said Answer) { a = said })
	a.Opened = opened
	a.addAside("asked in this program's own process, which a fault in the driver's library would end")
	return &a
}

// nvmlTimeout returns 10 s plus 4 s for each NVIDIA device: without persistence mode every GPU is initialised anew, and
// healthy hosts with eight take 25 to 30 s.
func nvmlTimeout(h *host.Host) time.Duration {
	gpus, _ := h.ReadDir("/proc/driver/nvidia/gpus")
	return time.Duration(10+4*len(gpus)) * time.Second
}

func late(limit time.Duration) *Answer {
	return &Answer{took: limit, NVML: facts.NVML{Status: "timeout", Message: fmt.Sprintf("no answer within %s; without persistence mode every start initialises all GPUs (nvidia-smi -pm 1), or give --timeout", limit)}}
}

// Support says in words whether this build can ask NVML.
func Support() string {
	if builtIn {
		return "with NVML"
	}
	return "without NVML"
}
