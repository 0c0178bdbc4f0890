// Package budget limits what one run uses: its time, and the memory for what it reads and keeps. There is one Budget
// for each run. Code that keeps a part of the input for the rest of the run (a cache, a list, a tree of names) asks the
// Budget first. What it refuses is left out and named; what was kept before stays.
package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Default limits on what a run keeps. The program, its garbage and the tables take the other half of 64 MB.
const (
	Bytes   = 24 << 20
	Entries = 500_000
)

// Budget is what is left for one run. Several goroutines may use it. The nil Budget refuses nothing.
type Budget struct {
	ctx            context.Context
	bytes, entries atomic.Int64 // left
	mostBytes      int64
	mostEntries    int64
}

// New returns the budget of a run that ends with ctx and may keep so many bytes and entries; an entry is one name, line
// or row, whatever its length.
func New(ctx context.Context, bytes, entries int64) *Budget {
	b := &Budget{ctx: ctx, mostBytes: bytes, mostEntries: entries}
	b.bytes.Store(bytes)
	b.entries.Store(entries)
	return b
}

// Usual returns a New budget with Bytes and Entries.
func Usual(ctx context.Context) *Budget { return New(ctx, Bytes, Entries) }

// ErrSpent is what every refusal of memory is, by errors.Is; a refusal of time is the context's cause.
var ErrSpent = errors.New("more than one run may keep")

// spentError says what is used up.
type spentError string

func (e spentError) Error() string        { return string(e) }
func (e spentError) Is(target error) bool { return target == ErrSpent }

// Err returns why nothing more is read: the time is up. It is nil while there is time, and asks nothing of memory.
func (b *Budget) Err() error {
	if b == nil || b.ctx.Err() == nil {
		return nil
	}
	return context.Cause(b.ctx)
}

// Left returns how much time is left, and whether the time is limited at all.
func (b *Budget) Left() (time.Duration, bool) {
	if b == nil {
		return 0, false
	}
	ends, limited := b.ctx.Deadline()
	return time.Until(ends), limited
}

// Keep takes so many entries of so many bytes in all. An error says in one clause why they cannot be kept; nothing is
// taken then.
func (b *Budget) Keep(entries, bytes int) error {
	if b == nil {
		return nil
	}
	if err := b.Err(); err != nil {
		return err
	}
	if b.entries.Add(-int64(entries)) < 0 {
		b.entries.Add(int64(entries))
		return spentError(fmt.Sprintf("a run keeps at most %d", b.mostEntries))
	}
	if b.bytes.Add(-int64(bytes)) < 0 {
		b.Return(entries, bytes)
		return spentError(fmt.Sprintf("a run keeps at most %d MB", b.mostBytes>>20))
	}
	return nil
}

// Cache reserves bytes for something that could be read again. It refuses once half of the bytes are used; the rest is
// for things that cannot be read twice.
func (b *Budget) Cache(bytes int) bool {
	if b == nil {
		return true
	}
	if b.bytes.Load() < b.mostBytes/2 {
		return false
	}
	b.bytes.Add(-int64(bytes))
	return true
}

// Return gives back what is no longer kept.
func (b *Budget) Return(entries, bytes int) {
	if b != nil {
		b.entries.Add(int64(entries))
		b.bytes.Add(int64(bytes))
	}
}

// Reader reads at most most bytes from r, until the deadline. Beyond either limit it returns an error in one clause, so
// that a truncated input is not taken for the whole.
func (b *Budget) Reader(r io.Reader, most int64) io.Reader { return &reader{b, r, most, most} }

type reader struct {
	budget     *Budget
	from       io.Reader
	left, most int64
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.budget.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return n - 1, spentError(fmt.Sprintf("larger than %s", size(r.most)))
	}
	return n, err
}

// size says a number of bytes as people do.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Shown is how many of a list a report shows.
const Shown = 100

// First returns the first of a list that a report shows, and how many more there are.
func First[T any](list []T) (first []T, more int) {
	n := min(len(list), Shown)
	return list[:n:n], len(list) - n
}
