package budget

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMemoryEndsARun checks that a context ends when more memory is in use than allowed, and not before.
func TestMemoryEndsARun(t *testing.T) {
	ample, tight := LimitMemory(t.Context(), 1<<40), LimitMemory(t.Context(), measureLive()+20<<20)
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
	if err := context.Cause(tight); !errors.Is(err, ErrSpent) || !strings.Contains(err.Error(), "more memory than a run may") {
		t.Errorf("64 MB more: %v", err)
	}
	if ample.Err() != nil {
		t.Errorf("with room: %v", context.Cause(ample))
	}
	runtime.KeepAlive(kept)
}
