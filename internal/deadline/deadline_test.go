package deadline

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestInTime checks that late work is abandoned, and that values, errors and panics of other work are passed on.
func TestInTime(t *testing.T) {
	ctx, cancel := Set(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, func() (int, error) { select {} })
	if late := new(Error); !errors.As(err, &late) || err.Error() != "the time was up (--timeout 10ms)" {
		t.Errorf("late work: %v", err)
	}
	if n, err := Run(context.Background(), func() (int, error) { return 7, os.ErrExist }); n != 7 ||
		err != os.ErrExist {
		t.Errorf("work in time: %d, %v", n, err)
	}
	defer func() {
		if r, _ := recover().(string); !strings.HasPrefix(r, "a bug for the test\n") {
			t.Errorf("a bug: %.100q", r)
		}
	}()
	_, _ = Run(context.Background(), func() (int, error) { panic("a bug for the test") })
}

// TestForJudging checks that there is always time to report what was read.
func TestForJudging(t *testing.T) {
	up, cancel := Set(context.Background(), time.Nanosecond)
	defer cancel()
	<-up.Done()
	judging, cancel := StartJudging(up)
	defer cancel()
	if judging.Err() != nil {
		t.Error("no time to judge after reading took all of it")
	}
	if _, limited := judging.Deadline(); !limited {
		t.Error("judging has no end")
	}
}
