package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/budget"
)

// run is runWithin without end.
func run(args []string, s streams) int { return runWithin(context.Background(), args, s) }

// TestMemoryEndsARun: a context ends once more is in use than it may be, and not before.
func TestMemoryEndsARun(t *testing.T) {
	ample, tight := withinMemory(t.Context(), 1<<40), withinMemory(t.Context(), live()+20<<20)
	for range 3 {
		runtime.GC()
	}
	if ample.Err() != nil || tight.Err() != nil {
		t.Fatalf("before anything was kept: %v, %v", context.Cause(ample), context.Cause(tight))
	}
	kept := make([]byte, 64<<20)
	for range 100 {
		runtime.GC()
		if tight.Err() != nil {
			break
		}
		time.Sleep(10 * time.Millisecond) // cleanups run behind the collection
	}
	if err := context.Cause(tight); !errors.Is(err, budget.ErrSpent) || !strings.Contains(err.Error(), "more memory than a run may") {
		t.Errorf("64 MB more: %v", err)
	}
	if ample.Err() != nil {
		t.Errorf("with room: %v", context.Cause(ample))
	}
	runtime.KeepAlive(kept)
}

// TestNoMemoryIsInconclusive: what was not read for lack of memory leaves the outcome open, as for lack of time.
func TestNoMemoryIsInconclusive(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(memoryError("it takes more memory than a run may"))
	for _, args := range [][]string{{"check", "../../examples/collect_env/broken.txt"}, {"doctor", "--root", t.TempDir()},
		{"requires", "torch==2.9.0"}} {
		var out, errs strings.Builder
		code := runWithin(ctx, append(args, "-o", "json"), streams{strings.NewReader(""), &out, &errs})
		if code != exitInconclusive || !strings.Contains(out.String()+errs.String(), "more memory than a run may") {
			t.Errorf("%s: exit code %d\n%.600s%s", args, code, out.String(), errs.String())
		}
	}
}
