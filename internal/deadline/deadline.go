// Package deadline limits how long each step of a run takes.
//
// A run reads, judges and writes, all within --timeout. Set starts the time for reading. StartJudging and StartWriting
// give the steps after it what is left, and at least enough to report what was read, so that a run ends within 200 ms
// after its limit. Run abandons work that does not look at its context, such as a call that waits for a pipe without a
// writer.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"cudacompat/internal/budget"
)

// Defaults of --timeout. A cold volume mounted for --root takes minutes where a running machine takes milliseconds. The
// tests raise them, so that no test fails on a busy machine.
var (
	Live  = 10 * time.Second
	Rest  = 120 * time.Second
	Image = 600 * time.Second
	Check = 10 * time.Second
)

// Health is half of what Docker gives a health check before it kills it (30 s), so that the check can still print a line.
const Health = 15 * time.Second

// Log is how long explain reads without --timeout.
const Log = 60 * time.Second

// Time reserved after reading: for judging, the same again for a judging step that overruns, and for writing. A run
// ends within 200 ms after --timeout.
var (
	JudgingReserve = 60 * time.Millisecond
	WritingReserve = 40 * time.Millisecond
)

// Set returns a context that ends after limit with an error that says so.
func Set(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return SetReserving(ctx, limit, 0)
}

// SetReserving returns a context that keeps a part of the limit for what comes after.
func SetReserving(ctx context.Context, limit, reserve time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit-reserve, fmt.Errorf("the time was up (--timeout %s)", limit))
}

// ErrUnjudged is the cause of the end of a context for judging.
var ErrUnjudged = errors.New("the time was up before everything was judged")

// StartJudging returns a context for the work after reading. It ends with ctx, but leaves enough time to report what was
// read. If reading had no limit of its own, judging gets the usual time. It also ends if judging uses more memory than
// a run may; what reading had used by then is garbage.
func StartJudging(ctx context.Context) (context.Context, context.CancelFunc) {
	ends, limited := ctx.Deadline()
	if !limited && ctx.Err() == nil {
		return Set(ctx, Live)
	}
	if soonest := time.Now().Add(JudgingReserve); ends.Before(soonest) || ctx.Err() != nil {
		ends = soonest
	}
	judging, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), ends, ErrUnjudged)
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

// ExtendJudging returns a context that ends shortly after the one for judging should.
func ExtendJudging(judging context.Context) (context.Context, context.CancelFunc) {
	ends, _ := judging.Deadline()
	return context.WithDeadline(context.WithoutCancel(judging), ends.Add(JudgingReserve))
}

// StartWriting returns a context for the work after judging. It ends with ctx, but leaves enough time to write a report.
func StartWriting(ctx context.Context) (context.Context, context.CancelFunc) {
	ends, limited := ctx.Deadline()
	if !limited {
		ends = time.Now().Add(Live)
	}
	if soonest := time.Now().Add(WritingReserve); ends.Before(soonest) {
		ends = soonest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), ends)
}

// Run runs work that may wait for an endless file, or compute for minutes, and returns when ctx ends. Late work keeps
// running in the background; the process is about to end.
func Run[T any](ctx context.Context, work func() (T, error)) (T, error) {
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
		return none, &Error{Err: context.Cause(ctx)}
	}
}

// Error says that work was abandoned at the deadline.
type Error struct {
	Err  error
	Hint string // what to do about it, if more than to give more time
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// SetAbandonable says that this process is a child that can be left behind if a FUSE file system does not answer, and
// names the file systems that it may block on.
func SetAbandonable(fuse string) { fuseNamed = fuse }

// fuseNamed names the FUSE file systems that this process may block on, if it is a child that can be abandoned.
var fuseNamed string

// CanAbandon reports whether a call that never returns may be abandoned, because its process can be.
func CanAbandon() bool { return fuseNamed != "" }

// Describe says in a sentence that time ran out, and what may have taken it.
func Describe(err error) string {
	if fuseNamed == "" {
		return err.Error()
	}
	return err.Error() + ": " + fuseNamed + " may not answer"
}

// reader is a reader that gives up at the deadline.
type reader struct {
	ctx  context.Context
	from io.Reader
}

// NewReader returns a reader that gives up when ctx ends, because a pipe may have no writer, or an endless one.
func NewReader(ctx context.Context, from io.Reader) io.Reader { return &reader{ctx, from} }

func (a *reader) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		n, err := a.from.Read(p)
		answers <- answer{n, err}
	}()
	select {
	case got := <-answers:
		return got.n, got.err
	case <-a.ctx.Done():
		return 0, context.Cause(a.ctx)
	}
}
