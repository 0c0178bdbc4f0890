//go:build !unix

package process

import (
	"errors"
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// readNode is of systems with device nodes.
func readNode(_ *host.Host, name string) (facts.Node, error) {
	return facts.Node{}, fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
}

// sharedMemory is of systems with /dev/shm.
func sharedMemory(*host.Host) int64 { return 0 }

// inode is of systems with inodes.
func inode(*host.Host, string) uint64 { return 0 }
