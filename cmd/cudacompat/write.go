package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"cudacompat/internal/budget"
	"cudacompat/internal/redact"
)

// write says a value in every format that was asked for, before the time of ctx is up. Whatever it holds of an input is
// without its secrets then. Where there is no time for the whole, it says the first of each list, and that the rest was
// left out.
func (o outputs[T]) write(ctx context.Context, value T) error {
	writing, cancel := forWriting(ctx)
	defer cancel()
	var redact redact.Walk
	var late *lateError
	whole := redact.Value(&value, func() bool { return writing.Err() != nil })
	for _, one := range o.list {
		err := errLate
		if whole {
			err = o.writeOne(writing, one, value)
		}
		if errors.Is(err, errLate) {
			err = o.beginning(one, value, &redact)
		}
		if errors.As(err, &late) { // the others may go elsewhere
			continue
		}
		if err != nil {
			return err
		}
	}
	if late != nil {
		return late
	}
	return nil
}

// leaving is what can say of itself that entries of its lists were left out, by the names of the lists.
type leaving interface{ Leave(left map[string]int) }

// beginning writes the first of each list of a value, for the rest of which there is no time. What would be wrong without
// its rest is not written.
func (o outputs[T]) beginning(one output[T], value T, redact *redact.Walk) error {
	short, left := budget.Short(value)
	redact.Value(&short, nil)
	if len(left) > 0 {
		l, ok := any(&short).(leaving)
		if !ok {
			complain(o.err, errLate.Error(), "give more --timeout")
			return exitError(exitInconclusive)
		}
		l.Leave(left)
		complain(o.err, "the time was up before all of it was written; left out: "+budget.Words(left), "give more --timeout")
	}
	if !leavable() {
		return o.writeOne(context.Background(), one, short)
	}
	writing, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return o.writeOne(writing, one, short)
}

// writeOne writes a value in one format. A file is written once all of it is there.
func (o outputs[T]) writeOne(ctx context.Context, one output[T], value T) error {
	if one.file != "" {
		return save(ctx, one.file, func(w io.Writer) error { return writeInTime(ctx, w, one, value) })
	}
	if err := writeInTime(ctx, o.out, one, value); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// errLate says that a format was not done when the time was up, and nothing of it is written.
var errLate = errors.New("the time was up before it was written")

// writeInTime lets a format work until the time is up. Formats write when they are done: what has begun to flow by then is
// not taken back, and goes on as fast as its reader reads.
func writeInTime[T any](ctx context.Context, w io.Writer, one output[T], value T) error {
	g := &gate{to: w}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		if g.isShut() {
			end()
		}
	})()
	_, err := inTime(working, func() (struct{}, error) { return struct{}{}, one.Write(g, value, one.style) })
	if late := new(lateError); errors.As(err, &late) {
		return errLate
	}
	return err
}

// gate is a writer that can be shut until something was written.
type gate struct {
	to io.Writer

	sync.Mutex
	open, closed bool
}

// isShut reports whether nothing was written, nor will be.
func (g *gate) isShut() bool {
	g.Lock()
	defer g.Unlock()
	g.closed = !g.open
	return g.closed
}

func (g *gate) Write(p []byte) (int, error) {
	g.Lock()
	g.open = !g.closed
	g.Unlock()
	if !g.open {
		return 0, errLate
	}
	return g.to.Write(p)
}
