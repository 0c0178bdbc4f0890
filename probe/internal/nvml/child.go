//go:build linux && cgo

package nvml

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"

	"golang.org/x/sys/unix"
)

// Limits for the child's output. An answer about sixteen GPUs has about ten kilobytes. Each process that uses memory
// adds about twenty bytes, so 64 GPUs with a thousand processes each have 1.4 MB.
const (
	maxAnswer  = 4 << 20
	maxLines   = 8 // three are written
	maxObjects = 20_000
	maxErrors  = 1 << 20
	keptErrors = 64 << 10 // the last of them: a traceback stands in it with its first line
)

// child is this program, started again to ask NVML, in a process group of its own.
type child struct {
	pid     int
	leash   *os.File      // the child ends when this does
	answers chan Answer   // what it writes, until it writes no more
	exited  chan struct{} // it has ended; its group has not been
	flooded chan string   // what it wrote too much of
	heard   chan struct{} // it writes no more on standard error

	opened map[string]string // how the nodes opened, which it says first

	mu   sync.Mutex
	errs []byte // the last of what it wrote on standard error
}

// askChild asks NVML in a child process, so that a crash, a missing symbol or a hang in the driver's library is a
// fact and not this program's end. A child that cannot be killed is left behind. The child gets env, where
// LD_LIBRARY_PATH says which library is asked; nil is this process's own.
func askChild(ctx context.Context, env map[string]string, limit time.Duration) *Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := startChild(env, limit)
	if err != nil {
		return &Answer{NVML: facts.NVML{Status: "crashed", Message: "cannot start the child process: " + err.Error()}}
	}
	defer c.leash.Close()
	a := c.answer(ctx, limit)
	a.Opened = c.opened
	return a
}

// pipe has an end to read and an end to write.
type pipe struct{ read, write *os.File }

// openPipes returns the three between the processes: answers, error messages, the leash.
func openPipes() (pipes [3]pipe, err error) {
	for i := range pipes {
		if pipes[i].read, pipes[i].write, err = os.Pipe(); err != nil {
			closePipes(pipes)
			return pipes, err
		}
	}
	return pipes, nil
}

func closePipes(pipes [3]pipe) {
	for _, p := range pipes {
		_, _ = p.read.Close(), p.write.Close() // one that was not opened says so
	}
}

// startChild starts the program that this process runs, whatever is at its path by now. The death signal wakes a child
// that a library has stopped, so that it notices the end of its parent (heel).
func startChild(env map[string]string, limit time.Duration) (*child, error) {
	pipes, err := openPipes()
	if err != nil {
		return nil, err
	}
	answers, errs, leash := pipes[0], pipes[1], pipes[2]
	c := &child{leash: leash.write, answers: make(chan Answer, maxLines), exited: make(chan struct{}),
		flooded: make(chan string, 2), heard: make(chan struct{})}
	if c.pid, err = forkExec(env, limit, errs.write, answers.write, leash.read); err != nil {
		closePipes(pipes)
		return nil, err
	}
	_, _, _ = answers.write.Close(), errs.write.Close(), leash.read.Close()
	go c.listen(answers.read)
	go c.keepErrors(errs.read)
	go c.await(answers.read)
	return c, nil
}

// forkExec starts the child with the descriptors that it expects. Package os/exec would first start another one, only
// to see whether the kernel has descriptors for processes.
func forkExec(env map[string]string, limit time.Duration, errs, answers, leash *os.File) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	vars := os.Environ()
	if len(env) > 0 {
		vars = nil
	}
	for name, value := range env {
		vars = append(vars, name+"="+value)
	}
	const self = "/proc/self/exe"
	return syscall.ForkExec(self, []string{self, nvmlArg, limit.String()}, &syscall.ProcAttr{Env: vars,
		Files: []uintptr{null.Fd(), null.Fd(), errs.Fd(), answerFD: answers.Fd(), leashFD: leash.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCONT}})
}

// listen passes on what the child answers.
func (c *child) listen(from *os.File) {
	defer close(c.answers)
	defer from.Close()
	all := &io.LimitedReader{R: from, N: maxAnswer}
	lines := bufio.NewScanner(all)
	lines.Buffer(nil, maxAnswer)
	for n := 0; n < maxLines && lines.Scan(); n++ {
		var a Answer
		if bytes.Count(lines.Bytes(), []byte("{")) > maxObjects || json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		if c.answers <- a; a.Whole {
			return
		}
	}
	if all.N == 0 {
		c.flooded <- "an answer"
	}
}

// keepErrors keeps the end of what the child writes on standard error.
func (c *child) keepErrors(from *os.File) {
	defer close(c.heard)
	defer from.Close()
	block, total := make([]byte, 4<<10), 0
	for total < maxErrors {
		n, err := from.Read(block)
		if err != nil {
			return
		}
		total += n
		c.mu.Lock()
		c.errs = append(c.errs, block[:n]...)
		c.errs = c.errs[max(len(c.errs)-keptErrors, 0):]
		c.mu.Unlock()
	}
	c.flooded <- "error messages"
}

// lastWords is the time for output from a child that has ended; it is already in the pipes.
const lastWords = 100 * time.Millisecond

// await waits for the child's end and leaves it to be reaped: until then no other process gets its number. A process
// that it has started may hold the pipes open.
func (c *child) await(answers *os.File) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = answers.SetReadDeadline(time.Now().Add(lastWords))
	close(c.exited)
}

// answer returns the last that the child says in time.
func (c *child) answer(ctx context.Context, limit time.Duration) *Answer {
	var last *Answer
	for {
		select {
		case a, more := <-c.answers:
			if !more {
				return c.silent(ctx, last, limit)
			}
			if a.NVML.Status == "" {
				c.opened = a.Opened
				continue
			}
			if last = &a; a.Whole {
				c.end()
				return last
			}
		case what := <-c.flooded:
			return c.tooMuch(last, what)
		case <-ctx.Done():
			return c.abandon(last, limit)
		}
	}
}

// silent waits for the end of a child that answers no more.
func (c *child) silent(ctx context.Context, last *Answer, limit time.Duration) *Answer {
	select {
	case <-c.exited:
		status, _ := c.end()
		return c.deathAnswer(last, status)
	case what := <-c.flooded:
		return c.tooMuch(last, what)
	case <-ctx.Done():
		return c.abandon(last, limit)
	}
}

// tooMuch ends a child that writes without end. What it had answered before stays.
func (c *child) tooMuch(last *Answer, what string) *Answer {
	c.end()
	for {
		select {
		case a, more := <-c.answers:
			if more && a.NVML.Status != "" {
				last = &a
			}
			if more {
				continue
			}
		default:
		}
		break
	}
	why := "the child that asked NVML was ended: it wrote " + what + " without end"
	if last != nil {
		return last.noteMemoryUnknown(why)
	}
	return &Answer{NVML: facts.NVML{Status: "crashed", Message: why}}
}

// endTimeout is the time that the kernel may take to end a killed process. One in state D stays.
const endTimeout = 150 * time.Millisecond

// end kills the child's process group and says how the child ended, if it is gone.
func (c *child) end() (status syscall.WaitStatus, gone bool) {
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	reaped := make(chan syscall.WaitStatus, 1)
	go func() {
		var status syscall.WaitStatus
		err := error(syscall.EINTR)
		for err == syscall.EINTR {
			_, err = syscall.Wait4(c.pid, &status, 0, nil)
		}
		reaped <- status
	}()
	select {
	case status = <-reaped:
		return status, true
	case <-time.After(endTimeout):
		return 0, false
	}
}

// abandon ends a child that is late. State D after that is proof that the driver hangs: nothing can end such a
// process, so it is left behind.
func (c *child) abandon(last *Answer, limit time.Duration) *Answer {
	pid := c.pid
	stuck := hangsInKernel(pid)
	if _, gone := c.end(); !gone && stuck && hangsInKernel(pid) {
		return &Answer{NVML: facts.NVML{Status: "stuck",
			Message: fmt.Sprintf("NVML hangs in the kernel (process %d, state D, for %s)", pid, limit)}}
	}
	if last != nil {
		return last.noteMemoryUnknown(late(limit).NVML.Message)
	}
	return late(limit)
}

// noteMemoryUnknown notes why nothing is known of the GPUs' memory.
func (a *Answer) noteMemoryUnknown(why string) *Answer {
	a.addAside("whose memory is taken was asked for in vain: " + why)
	return a
}

// hangsInKernel reports whether a thread of the process is in state D. The thread that asks NVML need not be the first,
// whose state /proc/PID/stat shows.
func hangsInKernel(pid int) bool {
	h := host.This()
	return slices.ContainsFunc(h.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)), func(name string) bool {
		data, err := h.ReadFile(name)
		return err == nil && threadState(string(data)) == "D"
	})
}

// threadState returns the one-letter state in a stat file of /proc: "4711 (cudacompat) D 1 …". A name may hold
// anything.
func threadState(stat string) string {
	_, rest, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// deathAnswer says how the child ended that did not answer to the end.
func (c *child) deathAnswer(last *Answer, status syscall.WaitStatus) *Answer {
	why := "it wrote no answer"
	switch {
	case status.CoreDump():
		why = "signal: " + status.Signal().String() + " (core dumped)"
	case status.Signaled():
		why = "signal: " + status.Signal().String()
	case status.ExitStatus() > 0:
		why = fmt.Sprint("exit status ", status.ExitStatus())
	}
	select {
	case <-c.heard:
	case <-time.After(lastWords):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := lastLine(string(c.errs)); line != "" {
		why += ": " + line
	}
	why = "the child that asked NVML died: " + why
	if last != nil {
		return last.noteMemoryUnknown(why)
	}
	return &Answer{NVML: facts.NVML{Status: "crashed", Message: why}}
}

// lastLine returns the loader's message without this program's path: "undefined symbol: nvmlInit_v2" for "PROGRAM:
// symbol lookup error: PROGRAM: undefined symbol: nvmlInit_v2". For a message of the Go runtime it returns the first
// line.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "fatal error:") || strings.HasPrefix(line, "panic:") {
			return line
		}
	}
	last := lines[len(lines)-1]
	return last[max(strings.LastIndex(last, "undefined symbol:"), 0):]
}
