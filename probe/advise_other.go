//go:build !linux

package probe

import "os"

func readScattered(*os.File) {}
