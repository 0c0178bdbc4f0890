//go:build !unix

package process

import (
	"errors"
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// readNode does nothing: only other systems have device nodes.
func readNode(_ *host.Host, name string) (facts.Node, error) {
	return facts.Node{}, fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
}

// sharedMemory does nothing: only other systems have /dev/shm.
func sharedMemory(*host.Host) int64 { return 0 }

// inode does nothing: only other systems have inodes.
func inode(*host.Host, string) uint64 { return 0 }
