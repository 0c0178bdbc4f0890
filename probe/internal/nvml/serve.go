//go:build linux && cgo

package nvml

import (
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"time"
)

// The child's descriptors beside the usual three.
const (
	answerFD = 3 // it answers here: what libraries print on standard output is no part of it
	leashFD  = 4 // a pipe that ends when the parent does
)

// childData limits the child's writable memory, in bytes. NVML takes about ten megabytes; a faulty library that asks
// for ever more gets only this.
const childData = 512 << 20

// serve asks NVML, answers in lines of JSON and ends the process.
func serve() {
	limit, err := time.ParseDuration(os.Args[2])
	if err != nil {
		os.Exit(1)
	}
	syscall.CloseOnExec(answerFD)
	syscall.CloseOnExec(leashFD)
	go heel()
	time.AfterFunc(limit+time.Second, endGroup) // where the parent did not
	limitData()
	runtime.LockOSThread()
	answers := json.NewEncoder(os.NewFile(answerFD, "answer"))
	say := func(a Answer) {
		if err := answers.Encode(a); err != nil {
			os.Exit(1)
		}
	}
	say(Answer{Opened: openNodes()})
	askNVML(true, say)
	os.Exit(0)
}

// heel waits for the parent's end. A signal (PR_SET_PDEATHSIG) would end this process but nothing that the library has
// started. The read notices the end whatever the library does to signals, and continues if a library closes all
// descriptors.
func heel() {
	runtime.LockOSThread()
	var nothing [1]byte
	for {
		n, err := syscall.Read(leashFD, nothing[:])
		if err == syscall.EINTR {
			continue
		}
		if n == 0 && err == nil {
			endGroup()
		}
		return
	}
}

// endGroup ends this process and those that the library has started. Started by hand it leads no group, and the
// group's others are none of its own.
func endGroup() {
	if syscall.Getpgrp() == syscall.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	os.Exit(1)
}

func limitData() {
	var now syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &now) == nil {
		now.Cur = min(now.Max, childData)
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &now)
	}
}
