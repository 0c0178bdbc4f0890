//go:build unix

package guard

import (
	"os"
	"syscall"
)

// ownGroup starts a program in a process group of its own, so that what it starts ends with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
