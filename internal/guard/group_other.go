//go:build !unix

package guard

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func endGroup(p *os.Process) error { return p.Kill() }
