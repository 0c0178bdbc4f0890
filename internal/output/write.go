package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"cudacompat/internal/budget"
	"cudacompat/internal/deadline"
	"cudacompat/internal/redact"
	"cudacompat/internal/terminal"
)

// Write writes a value in every requested format before ctx ends, without the secrets of its input. If there is no time
// for all of it, it writes the first entries of each list and says that the rest was left out.
func (o Set[T]) Write(ctx context.Context, value T) error {
	writing, cancel := deadline.StartWriting(ctx)
	defer cancel()
	var redact redact.Walk
	var late *deadline.Error
	whole := redact.Value(&value, func() bool { return writing.Err() != nil })
	for _, one := range o.list {
		err := errLate
		if whole {
			err = o.writeOne(writing, one, value)
		}
		if errors.Is(err, errLate) {
			err = o.writeBeginning(one, value, &redact)
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

// shortened is a value that can record which of its lists were shortened.
type shortened interface{ Leave(left map[string]int) }

// writeBeginning writes the first entries of each list of a value if there is no time for the rest. It writes nothing that
// would be wrong without the rest.
func (o Set[T]) writeBeginning(one output[T], value T, redact *redact.Walk) error {
	short, left := budget.Short(value)
	redact.Value(&short, nil)
	if len(left) > 0 {
		l, ok := any(&short).(shortened)
		if !ok {
			terminal.Complain(o.err, errLate.Error(), "give more --timeout")
			return ErrNothingWritten
		}
		l.Leave(left)
		terminal.Complain(o.err, "the time was up before all of it was written; left out: "+budget.Words(left), "give more --timeout")
	}
	if !deadline.CanAbandon() {
		return o.writeOne(context.Background(), one, short)
	}
	writing, cancel := context.WithTimeout(context.Background(), deadline.WritingReserve)
	defer cancel()
	return o.writeOne(writing, one, short)
}

// ErrNothingWritten is the error for output of which nothing could be written in time, which has been said.
var ErrNothingWritten = errors.New("the time was up before anything was written")

// writeOne writes a value in one format. It writes a file only when its content is complete.
func (o Set[T]) writeOne(ctx context.Context, one output[T], value T) error {
	if one.file != "" {
		return Save(ctx, one.file, func(w io.Writer) error { return writeInTime(ctx, w, one, value) })
	}
	if err := writeInTime(ctx, o.out, one, value); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// errLate says that a format was not done in time, and that nothing of it was written.
var errLate = errors.New("the time was up before it was written")

// writeInTime runs a format until the deadline. Formats write when they are done. Output that has begun by then
// continues, as fast as its reader reads.
func writeInTime[T any](ctx context.Context, w io.Writer, one output[T], value T) error {
	g := &gate{to: w}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		if g.isShut() {
			end()
		}
	})()
	_, err := deadline.Run(working, func() (struct{}, error) { return struct{}{}, one.Write(g, value, one.style) })
	if late := new(deadline.Error); errors.As(err, &late) {
		return errLate
	}
	return err
}

// gate is a writer that can be shut as long as nothing was written.
type gate struct {
	to io.Writer

	sync.Mutex
	open, closed bool
}

// isShut reports whether nothing was written and nothing will be.
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
