//go:build !linux

package loader

import "cudacompat/probe/host"

func readScattered(host.File) {}
