package guard

import (
	"context"
	"os"
	"syscall"
)

// Stopped is the end of a run by a signal: Ctrl-C, SIGTERM, or a closed terminal.
type Stopped syscall.Signal

func (s Stopped) Error() string { return "interrupted" }

// Exit returns the exit code that shells use for the signal: 130 for Ctrl-C.
func (s Stopped) Exit() int { return 128 + int(s) }

// StopAtSignals returns a context that ends with the first of the signals, which becomes its cause.
func StopAtSignals(parent context.Context, signals <-chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case s := <-signals:
			cancel(Stopped(s.(syscall.Signal)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
