//go:build !linux

package python

import "cudacompat/probe/host"

func readScattered(host.File) {}
