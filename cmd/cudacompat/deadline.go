package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"cudacompat/internal/budget"
)

// Defaults of --timeout. A cold volume that is mounted for --root takes minutes to answer where a running machine takes
// milliseconds. The tests raise them, so that a busy machine fails none.
var (
	liveTimeout  = 10 * time.Second
	restTimeout  = 120 * time.Second
	imageTimeout = 600 * time.Second
	checkTimeout = 10 * time.Second
)

// What remains once reading has taken all the time: for judging, as much again for a step of it that does not end with its
// time, and for writing. A run ends within 200 ms after --timeout.
var (
	sayTimeout   = 60 * time.Millisecond
	writeTimeout = 40 * time.Millisecond
)

// withDeadline ends a context when the time is up, and says so.
func withDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return reserving(ctx, limit, 0)
}

// reserving returns bounded with a part of the limit kept for what comes after.
func reserving(ctx context.Context, limit, reserve time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit-reserve, fmt.Errorf("the time was up (--timeout %s)", limit))
}

var errUnjudged = errors.New("the time was up before everything was judged")

// forJudging returns a context for what follows reading: it ends as ctx does, but not before there was time to say what
// was read. Reading without a limit of its own leaves judging the usual time. Where judging takes more memory than a
// run may, it ends, too; what reading had taken by then is garbage.
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

// aMomentMore returns a context that ends soon after one for judging should have.
func aMomentMore(judging context.Context) (context.Context, context.CancelFunc) {
	ends, _ := judging.Deadline()
	return context.WithDeadline(context.WithoutCancel(judging), ends.Add(sayTimeout))
}

// forWriting returns a context for what follows judging, of which nothing but the time matters any more: it ends as ctx
// does, but not before there was time to write a report as machines mostly have it.
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

// inTime does work that may wait for a file that never ends, or compute for minutes, and gives up when ctx does. What
// is late is left behind: the process is about to end.
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

// lateError says that work was left behind when the time was up.
type lateError struct {
	error
	hint string // what to do about it, if more than to give more time
}

func (e *lateError) Unwrap() error { return e.error }

// fuseNamed names the FUSE file systems that this process may wait for, if it is a child that can be left behind.
var fuseNamed string

// leavable reports whether a call that never returns may be left behind: its process can be, too.
func leavable() bool { return fuseNamed != "" }

// lateText says in a sentence that the time was up, and what may have taken it.
func lateText(err error) string {
	if fuseNamed == "" {
		return err.Error()
	}
	return err.Error() + ": " + fuseNamed + " may not answer"
}
