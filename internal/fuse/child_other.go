//go:build !linux

package fuse

import "io"

// RunInChild does nothing, because other systems do not show which file systems are FUSE.
func RunInChild([]string) (code int, done bool, err error) { return 0, false, nil }

// ServeChild does nothing, because no child is started.
func ServeChild(func(args []string, in io.Reader, out, errs io.Writer) int) {}
