package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cudacompat/internal/redact"
	"cudacompat/internal/report/layout"
)

// waitingAfter is how long a step takes before a terminal shows that the program waits for it.
const waitingAfter = 500 * time.Millisecond

// ShowWaiting shows on a terminal what the program waits for and for how long, in one line that done clears. It writes
// nothing anywhere else.
func ShowWaiting(w io.Writer, what string) (done func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	width := screenWidth(w.(*os.File))
	ended := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		began := time.Now()
		tick := time.NewTimer(waitingAfter)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				if time.Since(began) >= waitingAfter {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				line := fmt.Sprintf("%s (%d s)", redact.Line(what), int(time.Since(began).Seconds()))
				fmt.Fprint(w, "\r\x1b[K"+layout.Fold(line, width-1, 0)[0])
				tick.Reset(time.Second)
			}
		}
	})
	return func() { close(ended); shown.Wait() }
}
