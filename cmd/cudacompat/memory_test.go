package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/internal/deadline"
	"cudacompat/probe/facts"
)

// run is runWithin without a deadline.
func run(args []string, s streams) int { return runWithin(context.Background(), args, s) }

// TestMemoryEndsARun checks that a context ends when more memory is in use than allowed, and not before.
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

// TestNoMemoryIsInconclusive checks that what was not read for lack of memory leaves the outcome open, as for lack of
// time.
func TestNoMemoryIsInconclusive(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(memoryError("it takes more memory than a run may"))
	read, err := givenInTime(ctx, []string{pipe(t)}, "", "", strings.NewReader(""))
	if err != nil || len(read) != 1 {
		t.Fatalf("%+v, %v", read, err)
	}
	unread := read[0].facts.Unread
	if len(unread) != 1 || unread[0].Kind != facts.UnreadCut || unread[0].Reason != "it takes more memory than a run may" {
		t.Errorf("%+v", unread)
	}
	judging, cancel := deadline.StartJudging(ctx)
	defer cancel()
	if judging.Err() != nil {
		t.Error("there is no time to say so")
	}
}
