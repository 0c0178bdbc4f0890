package loader

import (
	"os"
	"syscall"

	"cudacompat/probe/host"
)

// readScattered tells the kernel that small pieces all over a large file will be read. Otherwise it reads ahead for
// each: 180 MB instead of 12 MB of torch 2.8.0's libtorch_cuda.so, on a disk with a read-ahead of 8 MB. The kernel may
// ignore it.
func readScattered(file host.File) {
	const random = 1 // POSIX_FADV_RANDOM
	f, ok := file.(*os.File)
	if !ok {
		return
	}
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) {
			_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, fd, 0, 0, random, 0, 0)
		})
	}
}
