package probe

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// driverTrouble are kernel messages that prove a driver which no longer answers: Xid 79 (fallen off the bus), 119 and
// 120 (GSP RPC timeout, GSP error), 154 (recovery action needed), and an adapter that failed to initialise.
var driverTrouble = lazyregexp.New(`NVRM: Xid \(.*?\): (79|119|120|154),|RmInitAdapter failed`)

// xidLine is any Xid; driverLoaded is what the module says when it is loaded, after which older trouble is history:
//
//	NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AM02-12-3)
//
// Recovered is what it says of a GPU that needs no recovery any more, as after a reset:
//
//	NVRM: Xid (PCI:0000:48:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)
var (
	xidLine      = lazyregexp.New(`NVRM: Xid \(.*?\): \d+`)
	recovered    = lazyregexp.New(`NVRM: Xid \(PCI:([\da-fA-F:]+).*?\): 154,.* to 0x0 \(None\)`)
	driverLoaded = lazyregexp.New(`NVRM: loading NVIDIA UNIX`)
)

// maxKernelLines bounds how many such lines are kept; one broken GPU can write thousands.
const maxKernelLines = 20

// readKernelLog reads the messages since boot from /dev/kmsg, one a read:
//
//	4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.
func readKernelLog(h *Host, _ Options) (found, error) {
	fd, err := syscall.Open(h.Real("/dev/kmsg"), syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, skipped("/dev/kmsg can only be read by root")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/dev/kmsg", Err: err}
	}
	defer syscall.Close(fd)
	var log kernelLines
	record := make([]byte, 8192) // a record never exceeds this: CONSOLE_EXT_LOG_MAX
	for {
		n, err := syscall.Read(fd, record)
		if errors.Is(err, syscall.EPIPE) { // overwritten while we read: go on with the next
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		log.add(kernelText(string(record[:n])))
	}
	if len(log.trouble)+len(log.xids) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *Facts) { f.Driver.Kernel, f.Machine.Xids = log.trouble, log.xids }, nil
}

// kernelLines keeps the messages that matter, the first of each kind.
type kernelLines struct{ trouble, xids []string }

func (k *kernelLines) add(text string) {
	if !strings.Contains(text, "NVRM") { // of thousands, nearly all
		return
	}
	switch {
	case driverLoaded.MatchString(text):
		k.trouble, k.xids = nil, nil
	case xidLine.MatchString(text) && len(k.xids) < maxKernelLines:
		k.xids = append(k.xids, text)
	}
	if over := recovered.FindStringSubmatch(text); over != nil {
		k.trouble = slices.DeleteFunc(k.trouble, func(line string) bool { return strings.Contains(line, over[1]) })
	} else if driverTrouble.MatchString(text) && len(k.trouble) < maxKernelLines {
		k.trouble = append(k.trouble, text)
	}
}

// kernelText is the message without its prefix and without the key=value lines that may follow.
func kernelText(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
