//go:build unix

package nvml

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"cudacompat/probe/host"

	"golang.org/x/sys/unix"
)

// openedNodes are the nodes that are opened as CUDA does, and closed at once: neither powers a GPU up, as a GPU's own would.
var openedNodes = []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}

// openNodes says how open(2) of each node ends, "ok" or the name of an errno. Those of no driver that the kernel has are
// left out: opening one would load the driver.
func openNodes() map[string]string {
	devices, err := host.This().ReadFile("/proc/devices")
	answers := map[string]string{}
	for _, name := range openedNodes {
		var st unix.Stat_t
		if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR ||
			err == nil && !hasMajor(string(devices), int(unix.Major(uint64(st.Rdev)))) {
			continue
		}
		answers[name] = openNode(name)
	}
	return answers
}

func openNode(name string) string {
	for {
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		var code unix.Errno
		switch {
		case err == nil:
			unix.Close(fd)
			return "ok"
		case errors.Is(err, unix.EINTR):
		case errors.As(err, &code) && unix.ErrnoName(code) != "":
			return unix.ErrnoName(code)
		default:
			return err.Error()
		}
	}
}

// hasMajor reports whether the kernel has a driver for character devices of that number, as /proc/devices says. A
// sandbox's kernel may list none; it loads none either.
//
//	195 nvidia
func hasMajor(devices string, major int) bool {
	characters, _, _ := strings.Cut(devices, "Block devices:")
	listed := false
	for line := range strings.Lines(characters) {
		number, _, ok := strings.Cut(strings.TrimSpace(line), " ")
		if number == strconv.Itoa(major) {
			return true
		}
		_, err := strconv.Atoi(number)
		listed = listed || ok && err == nil
	}
	return !listed
}

// openPatience is what the kernel may take to open the nodes; it takes microseconds.
const openPatience = time.Second

// openHere opens the nodes in this process within openPatience. If an open does not return, its goroutine is left
// behind, and the nodes count as not answered.
func openHere(open func() map[string]string) map[string]string {
	answers := make(chan map[string]string, 1)
	go func() { answers <- open() }()
	select {
	case a := <-answers:
		return a
	case <-time.After(openPatience):
	}
	silent := map[string]string{}
	for _, name := range openedNodes {
		silent[name] = "no answer"
	}
	return silent
}
