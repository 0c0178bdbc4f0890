//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An order is one run of a program.
type order struct {
	Args     []string // with the program
	Env      []string
	Input    string        // a file for standard input; empty: /dev/null
	Patience time.Duration // after that the cage ends it: it hangs
	Kill     time.Duration // send Signal after this; 0: never
	Signal   syscall.Signal
	Out      string // a file for standard output in place of one of the cage's
}

// An outcome is what came of it.
type outcome struct {
	Code   int    // of the exit; -1: ended by Signal
	Signal string // that ended it
	Hung   bool
	Wall   time.Duration
	Peak   int64    // KiB resident at most, of the program
	Child  int64    // KiB, of it and its children
	Left   []string // processes that it left behind
	Apart  []string // of these, those that left its session or sit in state D: nobody can end them with it
	Out    []byte   `json:"-"`
	Err    []byte   `json:"-"`
}

// outputCap bounds what is kept of a run's output; a report is far smaller.
const outputCap = 8 << 20

// cagedRun runs an order in a process of its own that is the heir of every process the run leaves behind.
func (b *bench) cagedRun(o order) (outcome, error) {
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	out, errs := filepath.Join(b.dir, "stdout"), filepath.Join(b.dir, "stderr")
	o.Env = append(slices.Clone(o.Env), "CUDACOMPAT_CONFIG="+b.config())
	written, err := json.Marshal(o)
	if err != nil {
		return outcome{}, err
	}
	cmd := exec.Command(b.self, "cage", string(written), out, errs)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	result, err := cmd.Output()
	if err != nil {
		return outcome{}, fmt.Errorf("the cage: %w", err)
	}
	var got outcome
	if err := json.Unmarshal(result, &got); err != nil {
		return got, err
	}
	got.Out, got.Err = head(out), head(errs)
	return got, nil
}

func head(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, outputCap))
	return data
}

// cage runs one order: ORDER STDOUT STDERR.
func cage(args []string) {
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fail(err)
	}
	// A background job of a shell ignores interrupts, and its children inherit that. A caught signal is not ignored in
	// the child.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fail(err)
	}
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, o.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if o.Out == "" {
		o.Out = args[1]
	}
	cmd.Stdout, cmd.Stderr = create(o.Out), create(args[2])
	if o.Input != "" {
		in, err := os.Open(o.Input)
		if err != nil {
			fail(err)
		}
		cmd.Stdin = in
	}
	got := watch(cmd, o)
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		fail(err)
	}
	os.Exit(0)
}

func create(name string) *os.File {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		fail(err)
	}
	return f
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "torture:", err)
	os.Exit(70)
}

func watch(cmd *exec.Cmd, o order) outcome {
	var got outcome
	started := time.Now()
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	var kill <-chan time.Time
	if o.Kill > 0 {
		kill = time.After(o.Kill)
	}
	look := time.NewTicker(15 * time.Millisecond)
	patience := time.After(o.Patience)
	for {
		select {
		case <-exited:
			got.Wall = time.Since(started)
			got.ended(cmd.ProcessState)
			got.Left, got.Apart = inherited(cmd.Process.Pid)
			return got
		case <-look.C:
			got.Peak = max(got.Peak, peakOf(cmd.Process.Pid))
		case <-kill:
			_ = cmd.Process.Signal(o.Signal)
		case <-patience:
			got.Hung = true
			_ = cmd.Process.Kill()
		}
	}
}

func (got *outcome) ended(state *os.ProcessState) {
	status := state.Sys().(syscall.WaitStatus)
	got.Code = state.ExitCode()
	if status.Signaled() {
		got.Signal = status.Signal().String()
	}
	got.Child = state.SysUsage().(*syscall.Rusage).Maxrss
}

// peakOf returns a process's greatest resident set so far.
func peakOf(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return n
}

// grace is what the kernel may take to end and hand over what dies with its parent.
const grace = 300 * time.Millisecond

// busy is how long a killed process may wait for a processor on a machine that others use.
const busy = 10 * time.Second

// inherited names the processes that came to this one from the run, and ends them.
func inherited(session int) (left, apart []string) {
	for started := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return nil, nil
		}
		took := time.Since(started)
		if pid == 0 && took > grace && (took > busy || !slices.ContainsFunc(children(), condemned)) {
			break
		}
	}
	for _, pid := range children() {
		name, elsewhere := described(pid, session)
		if elsewhere {
			apart = append(apart, name)
		} else {
			left = append(left, name)
		}
		n, _ := strconv.Atoi(pid)
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	return left, apart
}

// children returns this process's own, and those that it inherited.
func children() []string {
	var all []string
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		pids, _ := os.ReadFile(file)
		all = append(all, strings.Fields(string(pids))...)
	}
	return all
}

// pending are the signals that were sent to a process and that it has not taken yet, as proc(5) has them.
var pending = regexp.MustCompile(`(?m)^S(?:ig|hd)Pnd:\s*([0-9a-f]+)$`)

// exiting is the kernel's mark on a process that ends, PF_EXITING in the ninth field of /proc/PID/stat.
const exiting = 0x4

// condemned reports whether SIGKILL was sent to a process, as the kernel does when its parent dies, or whether it has
// taken it and is being taken down.
func condemned(pid string) bool {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) > 6 {
		if flags, _ := strconv.ParseUint(fields[6], 10, 64); flags&exiting != 0 {
			return true
		}
	}
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	return slices.ContainsFunc(pending.FindAllSubmatch(status, -1), func(m [][]byte) bool {
		set, _ := strconv.ParseUint(string(m[1]), 16, 64)
		return set&(1<<(syscall.SIGKILL-1)) != 0
	})
}

// described returns a process's name and state, and whether it cannot end with its parent: in state D, or in a session
// of its own. "4711 (name) S parent group session …" (proc(5)).
func described(pid string, session int) (name string, apart bool) {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[shut+1:]))
	if open < 0 || len(fields) < 4 {
		return pid, false
	}
	own := fields[3] != strconv.Itoa(session)
	return string(stat[open:shut+1]) + " " + fields[0], own || fields[0] == "D"
}
