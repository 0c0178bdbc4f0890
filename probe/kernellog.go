package probe

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

// driverTrouble are kernel messages that prove a driver which no longer answers: Xid 79 (fallen off the bus), 119 and
// 120 (GSP RPC timeout, GSP error), 154 (recovery action needed), and an adapter that failed to initialise.
var driverTrouble = regexp.MustCompile(`NVRM: Xid \(.*?\): (79|119|120|154),|RmInitAdapter failed`)

// maxKernelLines bounds how many such lines are kept; one broken GPU can write thousands.
const maxKernelLines = 20

// readKernelLog reads the messages since boot from /dev/kmsg, one a read:
//
//	4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=python, GPU has fallen off the bus.
func readKernelLog(h *Host, _ Options) (found, error) {
	fd, err := syscall.Open(h.real("/dev/kmsg"), syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, skipped("/dev/kmsg is for root alone")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/dev/kmsg", Err: err}
	}
	defer syscall.Close(fd)
	var lines []string
	record := make([]byte, 8192) // a record never exceeds this: CONSOLE_EXT_LOG_MAX
	for len(lines) < maxKernelLines {
		n, err := syscall.Read(fd, record)
		if errors.Is(err, syscall.EPIPE) { // overwritten while we read: go on with the next
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if text := kernelText(string(record[:n])); driverTrouble.MatchString(text) {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return nil, errAbsent
	}
	return func(f *Facts) { f.Driver.Kernel = lines }, nil
}

// kernelText is the message without its prefix and without the key=value lines that may follow.
func kernelText(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
