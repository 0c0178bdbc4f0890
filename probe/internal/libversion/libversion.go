// Package libversion reads the versions of the driver's and of CUDA's libraries: from a file's name, or from its bytes.
package libversion

import (
	"fmt"

	"cudacompat/internal/lazyregexp"
)

var sonameSuffix = lazyregexp.New(`\.so\.(\d+(?:\.\d+)+)$`)

// InName returns the part after ".so." in a library's real name: 535.183.01 for "libcuda.so.535.183.01".
func InName(name string) string {
	if m := sonameSuffix.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// Driver matches a driver's version, "535.183.01".
var Driver = lazyregexp.New(`^\d{3,4}\.\d+(\.\d+)?$`)

// CUDA writes CUDA's integer, 1000*major + 10*minor (cuda.h), as people do: 12040 is "12.4". What cannot be
// such a number is empty.
func CUDA(n int) string {
	if n < 1000 || n > 99990 {
		return ""
	}
	return fmt.Sprintf("%d.%d", n/1000, n%1000/10)
}
