package budget_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"cudacompat/internal/budget"
)

func TestKeep(t *testing.T) {
	b := budget.New(t.Context(), 10<<20, 3)
	for _, ask := range []struct {
		entries, bytes int
		want           string
	}{
		{2, 4 << 20, ""},
		{2, 1, "a run keeps at most 3"},
		{1, 7 << 20, "a run keeps at most 10 MB"},
		{1, 6 << 20, ""}, // a refusal takes nothing
		{0, 1, "a run keeps at most 10 MB"},
	} {
		err := b.Keep(ask.entries, ask.bytes)
		if err == nil && ask.want != "" || err != nil && (err.Error() != ask.want || !errors.Is(err, budget.ErrSpent)) {
			t.Errorf("Keep(%d, %d): %v, want %q", ask.entries, ask.bytes, err, ask.want)
		}
	}
	b.Return(3, 10<<20)
	if err := b.Keep(3, 10<<20); err != nil {
		t.Errorf("after everything was returned: %v", err)
	}
}

// TestCache leaves the second half to what cannot be asked again.
func TestCache(t *testing.T) {
	b := budget.New(t.Context(), 100, 10)
	for i, want := range []bool{true, true, false} {
		if got := b.Cache(30); got != want {
			t.Errorf("the %d. answer: %v", i+1, got)
		}
	}
	if err := b.Keep(1, 40); err != nil {
		t.Error(err)
	}
}

func TestTimeIsUp(t *testing.T) {
	up := errors.New("the time was up")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := budget.Usual(ctx)
	if err := errors.Join(b.Err(), b.Keep(1, 1)); err != nil {
		t.Error(err)
	}
	cancel(up)
	if b.Err() != up || b.Keep(0, 0) != up {
		t.Errorf("%v, %v", b.Err(), b.Keep(0, 0))
	}
	if _, err := b.Reader(strings.NewReader("text"), 10).Read(make([]byte, 4)); err != up {
		t.Errorf("a reader: %v", err)
	}
}

// TestNone checks a caller without limits.
func TestNone(t *testing.T) {
	var b *budget.Budget
	b.Return(1, 1)
	if err := errors.Join(b.Err(), b.Keep(1<<40, 1<<40)); err != nil {
		t.Error(err)
	}
}

func TestReader(t *testing.T) {
	b := budget.Usual(t.Context())
	for most, want := range map[int64]string{3: "larger than 3 bytes", 4: "", 5: ""} {
		data, err := io.ReadAll(b.Reader(strings.NewReader("text"), most))
		if err == nil && (want != "" || string(data) != "text") || err != nil && (err.Error() != want || len(data) != int(most)) {
			t.Errorf("at most %d: %q, %v; want %q", most, data, err, want)
		}
	}
	_, err := io.ReadAll(b.Reader(strings.NewReader(strings.Repeat("x", 3<<20)), 2<<20))
	if err == nil || err.Error() != "larger than 2 MiB" {
		t.Error(err)
	}
}

func TestFirst(t *testing.T) {
	for n, more := range map[int]int{0: 0, 100: 0, 101: 1, 300: 200} {
		first, got := budget.First(make([]int, n))
		if got != more || len(first)+got != n {
			t.Errorf("of %d: %d and %d more", n, len(first), got)
		}
	}
}
