package budget

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Memory, in bytes, that a run may use when its garbage is collected, and how far the heap may grow beyond that:
// garbage until the next collection, and freed buffers that were not returned. The program itself takes up to 20 MB if
// the system keeps its file in large pieces. Together this is 64 MB, and 100 MB for a fleet.
const (
	RunMemory   = 36 << 20
	FleetMemory = 70 << 20
	garbage     = 6 << 20
)

// CollectLate delays garbage collection until 24 MB: most runs allocate a few megabytes and end, and collecting costs
// more than that. Afterwards it collects whenever the heap has grown by a quarter, or reaches the limit of a run. A
// fixed limit below what is in use would collect endlessly. Freed pages are returned before others are taken, however
// late a busy machine runs the collector.
func CollectLate(most int64) {
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

// LimitMemory returns a context that ends when a run uses more memory than it may, as it ends at a deadline. What was
// read until then is judged, and the report says that the rest was not. Readers limit what they keep; this limit is for
// what nobody thought of.
func LimitMemory(ctx context.Context, most uint64) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	var look func()
	look = func() {
		if measureLive() > most {
			end(spentError(fmt.Sprintf("it takes more memory than a run may, %d MB of what was read", most>>20)))
			return
		}
		afterCollecting(look)
	}
	afterCollecting(look)
	return ctx
}

// measureLive returns the memory in use at the last collection, in bytes.
func measureLive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
