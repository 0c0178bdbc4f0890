//go:build !linux

package python

import "os"

func readScattered(*os.File) {}
