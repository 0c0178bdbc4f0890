package loader

import (
	"os"
	"syscall"

	"cudacompat/probe/host"
)

// readScattered tells the kernel that small pieces of a large file will be read all over it. Without, it reads ahead of
// each: 180 MB of torch 2.8.0's libtorch_cuda.so on a disk with a read-ahead of 8 MB, 12 MB with. It is a wish; where
// it is not granted nothing is lost.
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
