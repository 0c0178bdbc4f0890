//go:build !js

package host

import "syscall"

// NonBlock is the flag of open(2) that keeps a pipe or a device from waiting for its other end.
const NonBlock = syscall.O_NONBLOCK
