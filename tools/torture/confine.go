//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unsafe"

	"cudacompat/probe"

	"golang.org/x/sys/unix"
)

// confined returns the arguments of a program under limits: "nofile=16", "as=…", "data=…", "stack=…", "nproc=…" in
// bytes or pieces, "no-openat2" for a kernel or a sandbox that refuses it, "no-proc" for a file system without /proc.
func (b *bench) confined(limits []string, args ...string) []string {
	return append([]string{b.self, "confine", strings.Join(limits, " ")}, args...)
}

var resources = map[string]int{"nofile": unix.RLIMIT_NOFILE, "as": unix.RLIMIT_AS, "data": unix.RLIMIT_DATA,
	"stack": unix.RLIMIT_STACK, "nproc": unix.RLIMIT_NPROC}

// confine takes something away from itself and becomes the program: LIMITS PROGRAM ARGUMENT…
func confine(args []string) {
	runtime.LockOSThread()
	for _, limit := range strings.Fields(args[0]) {
		var err error
		switch name, value, _ := strings.Cut(limit, "="); name {
		case "no-openat2":
			err = refuseOpenat2()
		case "no-proc":
			err = hideProc()
		default:
			n, _ := strconv.ParseUint(value, 10, 64)
			err = syscall.Setrlimit(resources[name], &syscall.Rlimit{Cur: n, Max: n})
		}
		if err != nil {
			fail(fmt.Errorf("%s: %w", limit, err))
		}
	}
	fail(syscall.Exec(args[1], args[1:], os.Environ()))
}

// refuseOpenat2 answers ENOSYS, as gVisor and old seccomp profiles do.
func refuseOpenat2() error {
	const number, enosys = unix.SYS_OPENAT2, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: number},
		{Code: unix.BPF_RET | unix.BPF_K, K: enosys},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// hideProc mounts an empty file system over /proc, in a mount namespace of this thread and the program that it
// executes.
func hideProc() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("none", "/proc", "tmpfs", 0, "")
}

// look plays a program which imports probe and did not opt in to a child: NVML is asked in its process.
func look(args []string) {
	limit, err := time.ParseDuration(args[0])
	if err != nil {
		fail(err)
	}
	facts := probe.Run(context.Background(), probe.This(), probe.Options{Timeout: limit})
	said, err := json.Marshal(facts)
	if err != nil {
		fail(err)
	}
	fmt.Println(strings.Map(func(r rune) rune { // how facts are made harmless is the report's to show
		if r >= unicode.MaxASCII {
			return '?'
		}
		return r
	}, string(said)))
	os.Exit(0)
}
