//go:build !js

package guard

import (
	"os"
	"syscall"
)

// endSignals ask for the end of a run: Ctrl-C, a polite kill, and a terminal that was closed.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
