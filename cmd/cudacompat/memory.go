package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"cudacompat/internal/budget"
)

// Memory that a run may have in use when its garbage is collected, in bytes, and what the heap may take beyond that: garbage
// until the next collection, and buffers that were freed and not given back. The program itself takes up to 20 MB,
// where the system keeps its file in large pieces: together 64 MB, and 100 MB for a fleet.
const (
	inUse      = 36 << 20
	inUseFleet = 70 << 20
	garbage    = 6 << 20
)

// collectLate leaves garbage where it is until there are 24 MB: a run allocates a few megabytes and ends, and
// collecting them costs more than they do. From the first collection on it is done as the heap grows by a quarter, since a
// fixed limit below what is in use would collect without end, or reaches what a run with so much in use may take: pages
// that were freed are then given back before others are taken, however late a busy machine lets the collector run.
func collectLate(most int64) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)
	afterCollecting(func() {
		debug.SetGCPercent(25)
		debug.SetMemoryLimit(most + garbage)
	})
}

// afterCollecting calls a function once, after the next collection.
func afterCollecting(do func()) {
	sentinel := new([64]byte)
	runtime.AddCleanup(sentinel, func(do func()) { do() }, do)
}

// withinMemory returns a context that ends when more memory is in use than a run may take, as it ends when the time is
// up: what was read until then is judged, and that the rest was not is said. What readers keep is bounded where they
// keep it; this bounds what nobody has thought of.
func withinMemory(ctx context.Context, most uint64) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	var look func()
	look = func() {
		if live() > most {
			end(memoryError(fmt.Sprintf("it takes more memory than a run may, %d MB of what was read", most>>20)))
			return
		}
		afterCollecting(look)
	}
	afterCollecting(look)
	return ctx
}

// live returns the memory that was in use at the last collection, in bytes.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// memoryError says that a run has no more memory.
type memoryError string

func (e memoryError) Error() string        { return string(e) }
func (e memoryError) Is(target error) bool { return target == budget.ErrSpent }
