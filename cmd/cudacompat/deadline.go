package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"cudacompat/internal/budget"
)

// Defaults of --timeout. A cold volume mounted for --root takes minutes where a running machine takes milliseconds. The
// tests raise them, so that no test fails on a busy machine.
var (
	liveTimeout  = 10 * time.Second
	restTimeout  = 120 * time.Second
	imageTimeout = 600 * time.Second
	checkTimeout = 10 * time.Second
)

// Time reserved after reading: for judging, the same again for a judging step that overruns, and for writing. A run
// ends within 200 ms after --timeout.
var (
	sayTimeout   = 60 * time.Millisecond
	writeTimeout = 40 * time.Millisecond
)

// withDeadline returns a context that ends after limit with an error that says so.
func withDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return reserving(ctx, limit, 0)
}

// reserving returns a context that keeps a part of the limit for what comes after.
func reserving(ctx context.Context, limit, reserve time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit-reserve, fmt.Errorf("the time was up (--timeout %s)", limit))
}

var errUnjudged = errors.New("the time was up before everything was judged")

// forJudging returns a context for the work after reading. It ends with ctx, but leaves enough time to report what was
// read. If reading had no limit of its own, judging gets the usual time. It also ends if judging uses more memory than
// a run may; what reading had used by then is garbage.
func forJudging(ctx context.Context) (context.Context, context.CancelFunc) {
	ends, limited := ctx.Deadline()
	if !limited && ctx.Err() == nil {
		return withDeadline(ctx, liveTimeout)
	}
	if soonest := time.Now().Add(sayTimeout); ends.Before(soonest) || ctx.Err() != nil {
		ends = soonest
	}
	judging, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), ends, errUnjudged)
	if ctx.Err() != nil {
		return judging, cancel
	}
	judging, end := context.WithCancelCause(judging)
	context.AfterFunc(ctx, func() {
		if why := context.Cause(ctx); errors.Is(why, budget.ErrSpent) {
			end(why)
		}
	})
	return judging, cancel
}

// aMomentMore returns a context that ends shortly after the one for judging should.
func aMomentMore(judging context.Context) (context.Context, context.CancelFunc) {
	ends, _ := judging.Deadline()
	return context.WithDeadline(context.WithoutCancel(judging), ends.Add(sayTimeout))
}

// forWriting returns a context for the work after judging. It ends with ctx, but leaves enough time to write a report.
func forWriting(ctx context.Context) (context.Context, context.CancelFunc) {
	ends, limited := ctx.Deadline()
	if !limited {
		ends = time.Now().Add(liveTimeout)
	}
	if soonest := time.Now().Add(writeTimeout); ends.Before(soonest) {
		ends = soonest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), ends)
}

// inTime runs work that may wait for an endless file, or compute for minutes, and returns when ctx ends. Late work
// keeps running in the background; the process is about to end.
func inTime[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
		bug   any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.bug = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- r
		}()
		r.value, r.err = work()
	}()
	select {
	case r := <-done:
		if r.bug != nil {
			panic(r.bug) // where run reports it
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, &lateError{error: context.Cause(ctx)}
	}
}

// lateError says that work was abandoned at the deadline.
type lateError struct {
	error
	hint string // what to do about it, if more than to give more time
}

func (e *lateError) Unwrap() error { return e.error }

// fuseNamed names the FUSE file systems that this process may block on, if it is a child that can be abandoned.
var fuseNamed string

// leavable reports whether a call that never returns may be abandoned, because its process can be.
func leavable() bool { return fuseNamed != "" }

// lateText says in a sentence that time ran out, and what may have taken it.
func lateText(err error) string {
	if fuseNamed == "" {
		return err.Error()
	}
	return err.Error() + ": " + fuseNamed + " may not answer"
}
