//go:build !linux

package main

// runInChild does nothing, because other systems do not show which file systems are FUSE.
func runInChild([]string) (code int, done bool) { return 0, false }

func serveChild(func([]string, streams) int) {}
