//go:build unix

package guard

import (
	"os"
	"syscall"
)

// ownGroup starts a program in its own process group, so that its children end with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
