package probe

import (
	"errors"
	"fmt"

	"cudacompat/probe/facts"
)

// readNode is of systems with device nodes.
func readNode(_ *Host, name string) (facts.Node, error) {
	return facts.Node{}, fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
}

// sharedMemory is of systems with /dev/shm.
func sharedMemory(*Host) int64 { return 0 }
