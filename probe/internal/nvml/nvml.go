// Package nvml asks the driver's management library for the driver and the GPUs, in a child process where the program
// lets itself be started as one: a fault in the library then ends nothing but the child.
package nvml

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// nvmlArg starts this program as the child that asks NVML.
const nvmlArg = "__nvml"

// served says that this program calls Serve, so that starting it again reaches the child's code. A program that
// does not would start itself for ever.
var served bool

// Serve must be called first in main by a program that wants NVML asked in a child process: in the child it
// answers on standard output and does not return. A program that never calls it gets NVML in its own process.
func Serve() {
	served = true
	if len(os.Args) != 2 || os.Args[1] != nvmlArg {
		return
	}
	runtime.LockOSThread()
	if err := json.NewEncoder(os.Stdout).Encode(askNVML()); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Start asks NVML while the files are read; the function that it returns waits for the answer.
func Start(ctx context.Context, h *host.Host, limit time.Duration) func() *Answer {
	if h.Rest {
		return func() *Answer { return &Answer{NVML: facts.NVML{Status: "left out", Message: "a tree at rest"}} }
	}
	if !builtIn {
		return func() *Answer { return &Answer{NVML: facts.NVML{Status: "not built in", Message: noNVML}} }
	}
	if limit == 0 {
		limit = nvmlTimeout(h)
	}
	ask, patience := askHere, limit
	if served {
		child := ctx
		ask = func() *Answer { return askChild(child, h.Env, limit) }
		ctx, patience = context.WithoutCancel(ctx), limit+time.Second // a child that is late is ended first
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	done := make(chan *Answer, 1)
	go func() {
		started := time.Now()
		a := ask()
		a.took = time.Since(started)
		done <- a
	}()
	return func() *Answer {
		defer cancel()
		return await(ctx, done, limit)
	}
}

// await waits for the answer; one that is there counts even where the files took longer than NVML was given.
func await(ctx context.Context, done <-chan *Answer, limit time.Duration) *Answer {
	select {
	case a := <-done:
		return a
	default:
	}
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return late(limit)
	}
}

// askHere asks NVML in this process, for programs that do not call Serve.
func askHere() *Answer {
	a := askNVML()
	a.note("asked in this program's own process, which a fault in the driver's library would end")
	return &a
}

// nvmlTimeout is 10 s and 4 s more for each NVIDIA device: without persistence mode every GPU is initialised anew,
// and healthy hosts with eight take 25 to 30 s.
func nvmlTimeout(h *host.Host) time.Duration {
	gpus, _ := h.ReadDir("/proc/driver/nvidia/gpus")
	return time.Duration(10+4*len(gpus)) * time.Second
}

func late(limit time.Duration) *Answer {
	return &Answer{took: limit, NVML: facts.NVML{Status: "timeout", Message: fmt.Sprintf("no answer within %s; "+
		"without persistence mode every start initialises all GPUs (nvidia-smi -pm 1), or give --timeout", limit)}}
}

// askChild asks NVML in a child process, so that a crash, a missing symbol or a hang in the driver's library is a
// fact and not this program's end. A child that cannot be killed is left behind. The child gets env, where
// LD_LIBRARY_PATH says which library is asked; nil is this process's own.
func askChild(ctx context.Context, env map[string]string, limit time.Duration) *Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return &Answer{NVML: facts.NVML{Status: "crashed",
			Message: "cannot find this program to start it again: " + err.Error()}}
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(self, nvmlArg)
	cmd.Stdout, cmd.Stderr = &out, &errs
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return &Answer{NVML: facts.NVML{Status: "crashed", Message: "cannot start the child process: " + err.Error()}}
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case err := <-exited:
		return childAnswer(out.Bytes(), errs.String(), err)
	case <-ctx.Done():
		return abandon(cmd.Process, exited, limit)
	}
}

// abandon ends a child that is late. State D after that is proof that the driver hangs: nothing can end such a
// process, so it is left behind.
func abandon(child *os.Process, exited <-chan error, limit time.Duration) *Answer {
	stuck := hangsInKernel(child.Pid)
	_ = child.Kill()
	select {
	case <-exited:
		stuck = false
	case <-time.After(500 * time.Millisecond):
		stuck = stuck && hangsInKernel(child.Pid)
	}
	if stuck {
		return &Answer{NVML: facts.NVML{Status: "stuck",
			Message: fmt.Sprintf("NVML hangs in the kernel (process %d, state D, for %s)", child.Pid, limit)}}
	}
	return late(limit)
}

// hangsInKernel says whether a thread of the process is in state D. The thread that asks NVML need not be the first,
// whose state /proc/PID/stat shows.
func hangsInKernel(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(stats, func(name string) bool {
		data, err := os.ReadFile(name)
		return err == nil && threadState(string(data)) == "D"
	})
}

// threadState is the one-letter state in a stat file of /proc: "4711 (cudacompat) D 1 …". A name may hold anything.
func threadState(stat string) string {
	_, rest, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// childAnswer reads what the child wrote; a child that wrote nothing died of the driver's library.
func childAnswer(out []byte, errs string, exit error) *Answer {
	var a Answer
	if err := json.Unmarshal(out, &a); err == nil && exit == nil {
		return &a
	}
	why := "it wrote no answer"
	var ee *exec.ExitError
	if errors.As(exit, &ee) {
		why = ee.ProcessState.String()
	}
	if line := lastLine(errs); line != "" {
		why += ": " + line
	}
	return &Answer{NVML: facts.NVML{Status: "crashed", Message: "the child that asked NVML died: " + why}}
}

// lastLine is the loader's complaint, "undefined symbol: nvmlInit_v2" of "PROGRAM: symbol lookup error: PROGRAM:
// undefined symbol: nvmlInit_v2", without this program's path; a Go traceback's first line says more than its last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	last := lines[len(lines)-1]
	return last[max(strings.LastIndex(last, "undefined symbol:"), 0):]
}

// Support says in words whether this build can ask NVML.
func Support() string {
	if builtIn {
		return "with NVML"
	}
	return "without NVML"
}
